;;; acp-sidecar.el --- Coding agents that see unsaved buffers  -*- lexical-binding: t; -*-

;; Package-Requires: ((emacs "28.1") (eglot "1.9"))
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Copy this file into a folder of `load-path' and put into your init file:
;;
;;   (require 'acp-sidecar)
;;   (setq acp-sidecar-settings
;;         '(:agents (:fast-agent (:command "fast-agent-acp" :args ["--model" "passthrough"]))
;;           :defaultAgent "fast-agent"))
;;
;; M-x acp-sidecar in any file starts the sidecar for that file's project.  From then on it serves every file of the
;; project that has no other language server (eglot uses one server per buffer).  Then:
;;
;;   M-x acp-sidecar-prompt   acp-sidecar-chat   acp-sidecar-send   acp-sidecar-new-session   acp-sidecar-cancel
;;   M-x acp-sidecar-keep     acp-sidecar-reject (the agents' changes in the current buffer)   acp-sidecar-status
;;
;; This file adds to eglot: one server for all major modes of a project; unsent typing is sent before an edit's version
;; is checked (eglot 1.17 counts versions only when it sends); no question before each edit; each edit is its own undo
;; step; the requests sidecar/save, sidecar/open, sidecar/close and sidecar/reload; buffers without a file.

;;; Code:

(require 'cl-lib)
(require 'eglot)
(require 'url-parse)
(require 'url-util)

(defgroup acp-sidecar nil
  "Coding agents that see unsaved buffers."
  :group 'eglot)

(defcustom acp-sidecar-command '("acp-sidecar" "lsp")
  "How to start the sidecar."
  :type '(repeat string))

(defcustom acp-sidecar-settings nil
  "The sidecar's settings, as a property list that becomes a JSON object."
  :type 'plist)

(defclass acp-sidecar-server (eglot-lsp-server) ()
  :documentation "The sidecar, as eglot sees it.")

(defvar-local acp-sidecar--opened nil
  "Non-nil in a buffer that was opened for an agent.")

(defvar-local acp-sidecar--untitled nil
  "Where the sidecar knows this buffer, which has no file: (:buffer :server :uri :version :tick), or nil.
The tick is that of the text that it was told.")
(put 'acp-sidecar--untitled 'permanent-local t)


;;; Documents

(defun acp-sidecar--path (uri)
  "The file of URI; eglot 1.9 does not decode what is not ASCII."
  (decode-coding-string (url-unhex-string (url-filename (url-generic-parse-url uri))) 'utf-8))

(defun acp-sidecar--buffer (uri)
  "The buffer that the sidecar knows as URI, or nil."
  (if (string-prefix-p "untitled:" uri)
      (cl-find-if (lambda (buffer)
                    (with-current-buffer buffer
                      (and (acp-sidecar--untitled-told-p)
                           (equal uri (plist-get acp-sidecar--untitled :uri)))))
                  (buffer-list))
    (let ((buffer (find-buffer-visiting (acp-sidecar--path uri))))
      (and buffer (buffer-local-value 'eglot--managed-mode buffer) buffer))))

(defun acp-sidecar--flush (server)
  "Tell SERVER all typing that eglot holds back, so that versions mean what they say."
  (dolist (buffer (buffer-list))
    (with-current-buffer buffer
      (cond
       ((acp-sidecar--untitled-told-p)
        (when (eq (plist-get acp-sidecar--untitled :server) server) (acp-sidecar--untitled-tell)))
       ((and eglot--managed-mode (eq (eglot-current-server) server))
        (eglot--signal-textDocument/didChange))))))

(defun acp-sidecar--moved-on-p (version)
  "Whether the current buffer is not at VERSION any more."
  (not (or (null version)
           (eql version (if (acp-sidecar--untitled-told-p)
                            (plist-get acp-sidecar--untitled :version)
                          eglot--versioned-identifier)))))

(defun acp-sidecar--edit (edits)
  "Apply EDITS to the current buffer as one undo step that takes nothing else along."
  (undo-boundary)
  (if (acp-sidecar--untitled-told-p)
      (let ((how (acp-sidecar--counting (plist-get acp-sidecar--untitled :server))))
        (cl-progv (and how '(eglot-move-to-linepos-function)) (list how)
          (eglot--apply-text-edits edits)))
    (eglot--apply-text-edits edits))
  (undo-boundary))

(defun acp-sidecar--counting (server)
  "How eglot 1.17 counts characters for SERVER; nil for the usual way, or eglot 1.9, which has no other."
  (pcase (plist-get (eglot--capabilities server) :positionEncoding)
    ("utf-32" 'eglot-move-to-utf-32-linepos)
    ("utf-8" 'eglot-move-to-utf-8-linepos)))

(defun acp-sidecar--yes (value)
  "VALUE as JSON's true or false."
  (if value t :json-false))


;;; Buffers without a file, which eglot does not know

(defun acp-sidecar--untitled-p ()
  "Whether somebody writes text without a file in the current buffer.
Chats, shells and the like are not: they have modes of their own."
  (and (not buffer-file-name)
       (not buffer-read-only)
       (not (buffer-base-buffer))
       (not (get-buffer-process (current-buffer)))
       (or (eq major-mode 'fundamental-mode) (derived-mode-p 'text-mode 'prog-mode 'conf-mode))
       (not (string-match-p "\\`[ *]" (buffer-name)))
       (> (buffer-size) 0)))

(defun acp-sidecar--whole-text ()
  "The text of the current buffer."
  (save-restriction (widen) (buffer-substring-no-properties (point-min) (point-max))))

(defun acp-sidecar--untitled-told-p ()
  "Whether a sidecar that still runs knows the current buffer as one without a file.
A clone has the variable of what it was cloned from."
  (and (eq (plist-get acp-sidecar--untitled :buffer) (current-buffer))
       (jsonrpc-running-p (plist-get acp-sidecar--untitled :server))))

(defun acp-sidecar--untitled-uri ()
  "A URI for the current buffer that no other one has."
  (let* ((uri (concat "untitled:" (url-hexify-string (buffer-name)))) (unique uri) (number 1))
    (while (acp-sidecar--buffer unique)
      (setq number (1+ number) unique (format "%s-%d" uri number)))
    unique))

(defun acp-sidecar--untitled-open (server)
  "Tell SERVER of the current buffer, if it has text without a file and belongs to its project."
  (when (and (not (acp-sidecar--untitled-told-p)) (acp-sidecar--untitled-p) (eq (acp-sidecar--server) server))
    (setq acp-sidecar--untitled
          (list :buffer (current-buffer) :server server :uri (acp-sidecar--untitled-uri)
                :version 0 :tick (buffer-chars-modified-tick)))
    (add-hook 'after-change-functions #'acp-sidecar--untitled-changed nil t)
    (add-hook 'kill-buffer-hook #'acp-sidecar--untitled-close nil t)
    (jsonrpc-notify server :textDocument/didOpen
                    (list :textDocument
                          (list :uri (plist-get acp-sidecar--untitled :uri) :version 0 :text (acp-sidecar--whole-text)
                                :languageId (string-remove-suffix "-mode" (symbol-name major-mode)))))))

(defun acp-sidecar--untitled-tell ()
  "Bring the sidecar up to date with the current buffer."
  (let ((told acp-sidecar--untitled) (tick (buffer-chars-modified-tick)))
    (when (and (acp-sidecar--untitled-told-p) (not (eql tick (plist-get told :tick))))
      (plist-put told :tick tick)
      (plist-put told :version (1+ (plist-get told :version)))
      (jsonrpc-notify (plist-get told :server) :textDocument/didChange
                      (list :textDocument (list :uri (plist-get told :uri) :version (plist-get told :version))
                            :contentChanges (vector (list :text (acp-sidecar--whole-text))))))))

(defun acp-sidecar--untitled-changed (&rest _)
  "Something was typed: it is told as soon as eglot would tell it."
  (let ((buffer (current-buffer)))
    (unless (or (plist-get acp-sidecar--untitled :timer) (not (acp-sidecar--untitled-told-p)))
      (plist-put acp-sidecar--untitled :timer
                 (run-with-idle-timer
                  (or eglot-send-changes-idle-time 0) nil
                  (lambda ()
                    (when (buffer-live-p buffer)
                      (with-current-buffer buffer
                        (when acp-sidecar--untitled (plist-put acp-sidecar--untitled :timer nil))
                        (acp-sidecar--untitled-tell)))))))))
(put 'acp-sidecar--untitled-changed 'permanent-local-hook t)

(defun acp-sidecar--untitled-close ()
  "The current buffer goes, or has a file now."
  (when (acp-sidecar--untitled-told-p)
    (jsonrpc-notify (plist-get acp-sidecar--untitled :server) :textDocument/didClose
                    (list :textDocument (list :uri (plist-get acp-sidecar--untitled :uri)))))
  (setq acp-sidecar--untitled nil)
  (remove-hook 'after-change-functions #'acp-sidecar--untitled-changed t)
  (remove-hook 'kill-buffer-hook #'acp-sidecar--untitled-close t))
(put 'acp-sidecar--untitled-close 'permanent-local-hook t)

(defun acp-sidecar--named ()
  "The current buffer has a file now, where its review goes on."
  (when (and (acp-sidecar--untitled-told-p) buffer-file-name)
    (acp-sidecar--untitled-tell)
    (let ((server (plist-get acp-sidecar--untitled :server)) (uri (plist-get acp-sidecar--untitled :uri)))
      (acp-sidecar--adopt server)
      (jsonrpc-notify server :workspace/didRenameFiles
                      (list :files (vector (list :oldUri uri :newUri (acp-sidecar--uri)))))
      (acp-sidecar--untitled-close))))

(add-hook 'after-set-visited-file-name-hook #'acp-sidecar--named)


;;; Requests from the sidecar

(cl-defmethod eglot-handle-request
  ((server acp-sidecar-server) (_method (eql workspace/applyEdit)) &key edit &allow-other-keys)
  "All of EDIT or nothing of it, without asking: the sidecar has asked already where it should."
  (acp-sidecar--flush server)
  (let (prepared refused)
    (mapc
     (lambda (change)
       (let* ((document (plist-get change :textDocument))
              (buffer (and document (acp-sidecar--buffer (plist-get document :uri)))))
         (cond
          ((null buffer) (setq refused "not-open"))
          ((buffer-local-value 'buffer-read-only buffer) (setq refused "read-only"))
          ((with-current-buffer buffer (acp-sidecar--moved-on-p (plist-get document :version)))
           (setq refused "version"))
          (t (push (cons buffer (plist-get change :edits)) prepared)))))
     (plist-get edit :documentChanges))
    (if (or refused (null prepared))
        (list :applied :json-false :failureReason (or refused "no documentChanges"))
      (pcase-dolist (`(,buffer . ,edits) (nreverse prepared))
        (with-current-buffer buffer (acp-sidecar--edit edits)))
      (acp-sidecar--flush server)
      (list :applied t))))

(cl-defmethod eglot-handle-request
  ((server acp-sidecar-server) (_method (eql sidecar/save)) &key uri version &allow-other-keys)
  "Save as the user would; where Emacs would ask, the answer is no."
  (acp-sidecar--flush server)
  (let ((buffer (acp-sidecar--buffer uri)))
    (list :saved
          (acp-sidecar--yes
           (and buffer
                (with-current-buffer buffer
                  (and (not (acp-sidecar--moved-on-p version))
                       (verify-visited-file-modtime)
                       (condition-case problem
                           (let ((inhibit-interaction t)
                                 (save-silently t))
                             (save-buffer)
                             (not (buffer-modified-p)))
                         (error (message "acp-sidecar: not saved: %s" (error-message-string problem))
                                nil)))))))))

(cl-defmethod eglot-handle-request
  ((server acp-sidecar-server) (_method (eql sidecar/open)) &key uri &allow-other-keys)
  "Open a file in the background."
  (let* ((path (acp-sidecar--path uri))
         (known (find-buffer-visiting path))
         (buffer (or known (let ((inhibit-interaction t)) (find-file-noselect path t)))))
    (with-current-buffer buffer
      (unless known (setq acp-sidecar--opened t))
      (acp-sidecar--adopt server)
      (unless eglot--managed-mode (jsonrpc-error "%s has another language server, or no major mode" path))
      (acp-sidecar--flush server)
      (list :version eglot--versioned-identifier))))

(cl-defmethod eglot-handle-request
  ((_server acp-sidecar-server) (_method (eql sidecar/close)) &key uri &allow-other-keys)
  "Close what sidecar/open opened, when nobody looks at it and nothing in it is unsaved."
  (let* ((buffer (acp-sidecar--buffer uri))
         (idle (and buffer
                    (buffer-local-value 'acp-sidecar--opened buffer)
                    (not (get-buffer-window buffer t))
                    (not (buffer-modified-p buffer)))))
    (when idle (kill-buffer buffer))
    (list :closed (acp-sidecar--yes idle))))

(defconst acp-sidecar--positions '(eglot-move-to-linepos-function eglot-move-to-column-function)
  "How eglot counts characters: 1.17's variable, and 1.9's.")

(defun acp-sidecar--places (changes)
  "Where CHANGES move the point of each window of this buffer to: ((WINDOW . POSITION) …).
They are tried out on a copy, since a point has no place while the text is taken anew.
A point in a line stays before what is inserted there; one at a line's start goes along with the line."
  (let ((text (acp-sidecar--whole-text))
        (counted (mapcar (lambda (name) (and (boundp name) (symbol-value name))) acp-sidecar--positions))
        (points (mapcar (lambda (window) (cons window (window-point window)))
                        (get-buffer-window-list nil nil t))))
    (with-temp-buffer
      (insert text)
      (cl-mapc (lambda (name how) (when how (set (make-local-variable name) how)))
               acp-sidecar--positions counted)
      (pcase-dolist ((and place `(,_ . ,point)) points)
        (goto-char point)
        (setcdr place (copy-marker point (bolp))))
      (eglot--apply-text-edits changes)
      (mapcar (pcase-lambda (`(,window . ,marker)) (cons window (marker-position marker))) points))))

(cl-defmethod eglot-handle-request
  ((server acp-sidecar-server) (_method (eql sidecar/reload))
   &key uri version edits changes &allow-other-keys)
  "Take the disk's text, then apply EDITS; the text before comes back by undo.
CHANGES is both together, by which the points of its windows move."
  (acp-sidecar--flush server)
  (let ((buffer (acp-sidecar--buffer uri)))
    (if (or (null buffer) (with-current-buffer buffer (acp-sidecar--moved-on-p version)))
        (list :refused "version")
      (with-current-buffer buffer
        (let ((places (acp-sidecar--places changes)))
          (undo-boundary)
          (let ((inhibit-interaction t))
            (revert-buffer t t t))
          (acp-sidecar--edit edits)
          (pcase-dolist (`(,window . ,position) places)
            (set-window-point window position)))
        (acp-sidecar--flush server)
        (list :version eglot--versioned-identifier)))))

(cl-defmethod eglot-client-capabilities ((_server acp-sidecar-server))
  "What eglot itself announces, and that documents are shown (eglot 1.9 does not)."
  (let ((capabilities (copy-sequence (cl-call-next-method))))
    (plist-put capabilities :window
               (plist-put (copy-sequence (plist-get capabilities :window)) :showDocument '(:support t)))))

(cl-defmethod eglot-handle-request
  ((server acp-sidecar-server) (_method (eql window/showDocument))
   &key uri external takeFocus selection &allow-other-keys)
  "Show a file, a chat as a rule, and let the sidecar manage it wherever it is."
  (if (eq external t)
      (list :success :json-false)
    (let* ((path (acp-sidecar--path uri))
           (buffer (or (find-buffer-visiting path)
                       (let ((inhibit-interaction t)) (find-file-noselect path t))))
           (focused (eq takeFocus t)))
      (with-current-buffer buffer
        (when (eq major-mode 'fundamental-mode) (text-mode)) ; Emacs without markdown-mode
        (acp-sidecar--adopt server))
      (let ((window (if focused
                        (progn (pop-to-buffer buffer) (selected-window))
                      (display-buffer buffer))))
        (when (and window selection)
          (with-selected-window window
            (goto-char (point-min))
            (forward-line (plist-get (plist-get selection :start) :line)))))
      (list :success t))))

(cl-defmethod eglot-handle-notification
  ((_server acp-sidecar-server) (_method (eql sidecar/turnEnded)) &key stopReason changes &allow-other-keys)
  "Say that a turn has ended."
  (message "acp-sidecar: turn ended (%s), files changed: %d" stopReason (length changes)))


;;; Questions

(defvar-local acp-sidecar--asked nil
  "The question that this minibuffer asks, or nil.")

(defun acp-sidecar--asking (question)
  "Prepare the minibuffer for QUESTION: blanks are typed, as its answers have some."
  (setq acp-sidecar--asked question)
  (let ((map (make-sparse-keymap)))
    (set-keymap-parent map (current-local-map))
    (define-key map " " #'self-insert-command)
    (use-local-map map)))

(cl-defmethod eglot-handle-request
  ((_server acp-sidecar-server) (_method (eql window/showMessageRequest))
   &key message actions &allow-other-keys)
  "Ask in the minibuffer.  Where nothing is chosen, or \\`C-g' typed, the answer is not now."
  (let* ((titles (mapcar (lambda (action) (plist-get action :title)) actions))
         (completion-ignore-case t)
         (chosen (condition-case nil
                     (minibuffer-with-setup-hook (lambda () (acp-sidecar--asking message))
                       (completing-read (format "%s\nAnswer (TAB shows the choice; empty: not now): " message)
                                        titles nil t))
                   (quit nil))))
    (and (member chosen titles) (list :title chosen)))) ; nil is null

(defun acp-sidecar--minibuffer-question ()
  "The question that the minibuffer asks right now, or nil."
  (let ((window (active-minibuffer-window)))
    (and window (buffer-local-value 'acp-sidecar--asked (window-buffer window)))))

(cl-defmethod eglot-handle-notification
  ((_server acp-sidecar-server) (_method (eql $/cancelRequest)) &rest _)
  "A request was withdrawn, perhaps the question that the minibuffer asks: the status says what is still asked.
The minibuffer is left by a timer: leaving it here would also leave what else the server has just said."
  (let ((asked (acp-sidecar--minibuffer-question)))
    (when asked
      (acp-sidecar--command
       "sidecar.status" nil
       (lambda (status)
         (unless (cl-some (lambda (open) (string-prefix-p (plist-get open :text) asked))
                          (plist-get status :questions))
           (run-at-time
            0 nil
            (lambda ()
              (when (eq asked (acp-sidecar--minibuffer-question))
                (message "acp-sidecar: the question is asked no longer")
                (abort-recursive-edit))))))))))


;;; The server

(cl-defmethod eglot-initialization-options ((_server acp-sidecar-server))
  "The user's settings, what this file handles, and who it is (eglot 1.9 does not say)."
  (let ((client (copy-sequence (plist-get acp-sidecar-settings :client))))
    (unless (plist-member client :name) (setq client (plist-put client :name "eglot")))
    (dolist (ability '(:save :open :reload))
      (unless (plist-member client ability) (setq client (plist-put client ability t))))
    (plist-put (copy-sequence acp-sidecar-settings) :client client)))

(defun acp-sidecar--server ()
  "The sidecar that manages the current buffer, else that of its project, or nil.
A chat lies outside of every project."
  (let ((current (and eglot--managed-mode (eglot-current-server))))
    (if (cl-typep current 'acp-sidecar-server)
        current
      (cl-find-if (lambda (server) (cl-typep server 'acp-sidecar-server))
                  (gethash (eglot--current-project) eglot--servers-by-project)))))

(defun acp-sidecar--adopt (&optional server)
  "Let the project's sidecar (or SERVER) manage the current buffer, unless another server does."
  (when (and buffer-file-name
             (not eglot--managed-mode)
             (not (eq major-mode 'fundamental-mode))) ; eglot takes no buffer without a mode
    (let ((server (or server (acp-sidecar--server))))
      (when (and server (not (eglot-current-server)))
        (setq eglot--cached-server server) ; also where the file is outside the project
        (if (fboundp 'eglot--languages) ; eglot 1.17 keeps a language for each mode, 1.9 one for each server
            (push (cons major-mode (string-remove-suffix "-mode" (symbol-name major-mode)))
                  (eglot--languages server))
          (cl-pushnew major-mode (eglot--major-modes server)))
        (eglot--maybe-activate-editing-mode)))))

(add-hook 'find-file-hook #'acp-sidecar--adopt 90)
(add-hook 'after-change-major-mode-hook #'acp-sidecar--adopt 90)

(defun acp-sidecar--adopt-all ()
  "Let the sidecar manage every open file of its project."
  (dolist (buffer (buffer-list))
    (with-current-buffer buffer (acp-sidecar--adopt))))

;;;###autoload
(defun acp-sidecar ()
  "Start the sidecar for the current file's project."
  (interactive)
  (unless buffer-file-name (user-error "Visit a file of the project first"))
  (unless (acp-sidecar--server)
    (let ((language (string-remove-suffix "-mode" (symbol-name major-mode)))
          (old (not (fboundp 'eglot--languages))))
      (eglot (list major-mode)
             (eglot--current-project)
             'acp-sidecar-server
             acp-sidecar-command
             (if old language (list language)))))
  (acp-sidecar--adopt-all))

(defun acp-sidecar--command (name argument &optional done)
  "Run command NAME with ARGUMENT; DONE is called with its result.
It does not wait: eglot gives a command ten seconds, a turn takes longer."
  (let ((server (or (acp-sidecar--server) (user-error "Start the sidecar first: M-x acp-sidecar"))))
    (dolist (buffer (buffer-list))
      (with-current-buffer buffer (acp-sidecar--untitled-open server)))
    (acp-sidecar--flush server)
    (jsonrpc-async-request
     server :workspace/executeCommand
     (list :command name :arguments (if argument (vector argument) []))
     :success-fn (or done #'ignore)
     :error-fn (cl-function (lambda (&key message &allow-other-keys) (message "acp-sidecar: %s" message)))
     :timeout-fn (lambda () (message "acp-sidecar: %s has not answered" name))
     :timeout 60)))

(defun acp-sidecar-prompt (text)
  "Send TEXT to the agent; what it writes arrives as edits."
  (interactive "sPrompt: ")
  (acp-sidecar--command "sidecar.prompt" (list :prompt text)))

(defun acp-sidecar-chat ()
  "Open the transcript: a file whose last section is the prompt."
  (interactive)
  (acp-sidecar--command "sidecar.openChat" eglot--{}))

(defun acp-sidecar-send ()
  "Send the prompt of the chat in the current buffer."
  (interactive)
  (acp-sidecar--command "sidecar.send" (list :uri (acp-sidecar--uri))))

(defun acp-sidecar-new-session (agent)
  "Start a session with AGENT (empty: the default one)."
  (interactive "sAgent (empty: the default one): ")
  (acp-sidecar--command "sidecar.newSession" (if (string-empty-p agent) eglot--{} (list :agent agent))))

(defun acp-sidecar-cancel ()
  "Cancel the running turn."
  (interactive)
  (acp-sidecar--command "sidecar.cancel" eglot--{}))

(defun acp-sidecar--uri ()
  "The URI by which the sidecar knows the current buffer."
  (if buffer-file-name
      (concat "file://" (url-hexify-string buffer-file-name url-path-allowed-chars))
    (if (acp-sidecar--untitled-told-p)
        (plist-get acp-sidecar--untitled :uri)
      (user-error "The sidecar does not know this buffer"))))

(defun acp-sidecar--reviewed (result)
  "Say what RESULT tells of changes that could not be kept or taken back."
  (mapc (lambda (stuck) (message "acp-sidecar: %s" (plist-get stuck :reason))) (plist-get result :impossible)))

(defun acp-sidecar-keep ()
  "Keep all the agents' changes in the current buffer."
  (interactive)
  (acp-sidecar--command "sidecar.keep" (list :uri (acp-sidecar--uri)) #'acp-sidecar--reviewed))

(defun acp-sidecar-reject ()
  "Take back all the agents' changes in the current buffer."
  (interactive)
  (acp-sidecar--command "sidecar.reject" (list :uri (acp-sidecar--uri)) #'acp-sidecar--reviewed))

(defun acp-sidecar-status ()
  "Show what runs."
  (interactive)
  (acp-sidecar--command "sidecar.status" nil (lambda (status) (message "%s" (pp-to-string status)))))

(provide 'acp-sidecar)
;;; acp-sidecar.el ends here
