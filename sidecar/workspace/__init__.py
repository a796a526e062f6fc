"""The service that every door calls. It defines once what a read and a write mean, and reaches the outside through ports."""
