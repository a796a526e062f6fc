"""What an agent makes again after the user took it back, was shown that, and has typed since: for real and fake editors."""

AGAIN = {
    "the same": "one TWO three four five",
    "and more": "one TWO three four FIVE",
    "and above": "ONE two three four five",
}
"""name → what it sends then; the first is what it had made."""
