-- acp-sidecar for Neovim 0.7 and newer. Copy this file to ~/.config/nvim/lua/acp-sidecar.lua and put into init.lua:
--
--   require('acp-sidecar').setup {
--     agents = { ['fast-agent'] = { command = 'fast-agent-acp', args = { '--model', 'passthrough' } } },
--     defaultAgent = 'fast-agent',
--   }
--
-- setup() accepts every setting of the sidecar (docs/settings.md), and four of its own: cmd (the command that starts the
-- sidecar), root_dir (default: the working directory when it starts), on_turn_ended (a function that gets the parameters of
-- sidecar/turnEnded) and keys (true: map the keys below; otherwise no key is mapped).
--
-- Commands:  :AcpPrompt TEXT   :AcpChat   :AcpNew [AGENT]   :AcpCancel   :AcpAnswer   :AcpStatus   :AcpMessages   :AcpStop
-- Review:    :AcpNext  :AcpPrevious            ]h  [h            go to the next or previous agent change
--            :AcpKeep  :AcpReject              <leader>hk  hr    keep or reject the one at the cursor
--            :AcpKeepAll[!]  :AcpRejectAll[!]  <leader>hK  hR    all in this buffer; with !, in all files
--
-- This file adds to Neovim's own client: one client for all file buffers of any type, and for those without a file; the
-- custom requests sidecar/save, sidecar/open, sidecar/close and sidecar/reload; a version check that includes version 0 and
-- reports its real result; questions that never take the keys that you are typing.

local M = {}

local api = vim.api
local cursors = api.nvim_create_namespace('acp-sidecar.cursors')
local hints_unnamed = api.nvim_create_namespace('acp-sidecar.hints')
local has_0_11 = vim.fn.has('nvim-0.11') == 1

local LARGEST_UNNAMED = 2 ^ 20 -- bytes: such a buffer is told with its whole text whenever typing in it rests

local state = {
  client_id = nil,
  config = nil,
  ticks = {}, -- buffer → changedtick of its last change since didOpen; 0 when there was none
  stats = {}, -- buffer → what its file looked like when it was last read or written
  opened = {}, -- buffer → true: opened for an agent, nobody has looked at it
  telling = false, -- typing in such a buffer is told soon
  unnamed = {}, -- buffer without a file → { uri, tick }: the changedtick whose text the sidecar has
  said = {}, -- what was said, oldest first
  unseen = false, -- what was said in insert mode, where Neovim draws '-- INSERT --' over it at once: it is shown when that ends
  questions = {}, -- open questions, oldest first: { message, actions, answer = function(action) }
}

--- Nothing that is said takes a key from who is typing. Neovim makes a prompt ("Press ENTER") of what its last line has no room
--- for, and of two messages between which the screen was not drawn. So a message is one line, cut before `tail`, which says how to
--- see all of it; :AcpMessages does.
local function notify(message, level, tail)
  message = 'acp-sidecar: ' .. message
  table.insert(state.said, message)
  if #state.said > 100 then
    table.remove(state.said, 1)
  end
  local line = message:match('^[^\r\n]*')
  local width = vim.fn.strdisplaywidth
  if line ~= message or width(line .. (tail or '')) > vim.v.echospace then
    tail = tail or '  (:AcpMessages)'
    line = vim.fn.matchstr(line, '^.*\\%<' .. math.max(vim.v.echospace - width('…' .. tail), 1) .. 'v.') .. '…'
  end
  line = line .. (tail or '')
  vim.cmd('redraw')
  vim.notify(line, level or vim.log.levels.INFO)
  state.unseen = api.nvim_get_mode().mode:find('^[iR]') and line
end

-- Buffers -----------------------------------------------------------------------------------------------------------

--- A buffer that stands for a file: no terminals, no quickfix, no fugitive://…
local function is_file(bufnr)
  local name = api.nvim_buf_get_name(bufnr)
  return api.nvim_buf_is_loaded(bufnr)
    and api.nvim_buf_get_option(bufnr, 'buftype') == ''
    and name ~= ''
    and not name:match('^%a[%w+.-]+://')
end

--- The URI by which the sidecar knows a buffer.
local function uri_of(bufnr)
  local unnamed = state.unnamed[bufnr]
  return unnamed and unnamed.uri or vim.uri_from_bufnr(bufnr)
end

--- The loaded buffer of a URI, without making one (vim.uri_to_bufnr would).
local function loaded(uri)
  for bufnr, unnamed in pairs(state.unnamed) do
    if unnamed.uri == uri then
      return bufnr
    end
  end
  if vim.startswith(uri, 'untitled:') then
    return nil
  end
  local path = vim.uri_to_fname(uri)
  for _, bufnr in ipairs(api.nvim_list_bufs()) do
    if api.nvim_buf_get_name(bufnr) == path and is_file(bufnr) then
      return bufnr
    end
  end
end

--- What tells one state of a file from another; nil when there is no file.
local function stat(bufnr)
  local found = vim.loop.fs_stat(api.nvim_buf_get_name(bufnr))
  return found and string.format('%d.%d %d', found.mtime.sec, found.mtime.nsec, found.size)
end

local function remember_file(bufnr)
  state.stats[bufnr] = stat(bufnr) or 'none'
end

--- Whether somebody changed the buffer after `version`. Neovim's own check never refuses version 0, which is didOpen's,
--- and shares its table with every other client; this one counts for itself.
local function moved_on(bufnr, version)
  return (state.ticks[bufnr] or 0) > (version or 0)
end

--- The version that the sidecar knows the document by, all changes so far included.
local function current_version(bufnr)
  -- 0.11 opens a document at the version another client brought it to; 0.7 opens it at 0
  local shared = has_0_11 and vim.lsp.util.buf_versions[bufnr] or 0
  return math.max(state.ticks[bufnr] or 0, shared)
end

local function notify_server(method, params)
  local client = state.client_id and vim.lsp.get_client_by_id(state.client_id)
  if client and client.initialized then
    if has_0_11 then
      client:notify(method, params)
    else
      client.notify(method, params)
    end
    return true
  end
end

--- A buffer without a file has no name for Neovim's own client, which would call each of them 'file://'. So this file tells the
--- sidecar of them, as untitled:Untitled-N and with their whole text. An empty one is not told of before something is in it.
local function is_unnamed(bufnr)
  return api.nvim_buf_is_loaded(bufnr)
    and api.nvim_buf_get_option(bufnr, 'buftype') == ''
    and api.nvim_buf_get_option(bufnr, 'buflisted')
    and api.nvim_buf_get_name(bufnr) == ''
    and api.nvim_buf_get_offset(bufnr, api.nvim_buf_line_count(bufnr)) <= LARGEST_UNNAMED
end

local function forget_unnamed(bufnr)
  state.unnamed[bufnr] = nil
  vim.schedule(function()
    if api.nvim_buf_is_valid(bufnr) then
      vim.diagnostic.reset(hints_unnamed, bufnr)
    end
  end)
end

local function close_unnamed(bufnr)
  if state.unnamed[bufnr] then
    notify_server('textDocument/didClose', { textDocument = { uri = state.unnamed[bufnr].uri } })
    forget_unnamed(bufnr)
  end
end

--- The text as a file would have it, which is what Neovim's client tells of one.
local function whole_text(bufnr)
  local line_end = ({ dos = '\r\n', mac = '\r' })[api.nvim_buf_get_option(bufnr, 'fileformat')] or '\n'
  local text = table.concat(api.nvim_buf_get_lines(bufnr, 0, -1, true), line_end)
  return api.nvim_buf_get_option(bufnr, 'endofline') and text .. line_end or text
end

--- Brings the sidecar up to date with the buffers that it was told of.
local function tell_unnamed()
  for bufnr, unnamed in pairs(state.unnamed) do
    local tick = state.ticks[bufnr]
    if unnamed.tick ~= tick then
      unnamed.tick = tick
      notify_server('textDocument/didChange', {
        textDocument = { uri = unnamed.uri, version = tick },
        contentChanges = { { text = whole_text(bufnr) } },
      })
    end
  end
end

--- Typing is told when it rests for a moment, as Neovim's own client does.
local function tell_unnamed_soon()
  if not state.telling then
    state.telling = true
    vim.defer_fn(function()
      state.telling = false
      tell_unnamed()
    end, 150)
  end
end

local function watch(bufnr)
  if state.ticks[bufnr] then
    return
  end
  state.ticks[bufnr] = 0
  api.nvim_buf_attach(bufnr, false, {
    on_lines = function(_, _, tick)
      state.ticks[bufnr] = tick
      if state.unnamed[bufnr] then
        vim.schedule(tell_unnamed_soon)
      end
    end,
    on_reload = function()
      -- Neovim 0.7 opens the document again, at version 0; 0.11 keeps counting, and so it is never behind
      if not has_0_11 then
        state.ticks[bufnr] = 0
      end
    end,
    on_detach = function()
      close_unnamed(bufnr)
      state.ticks[bufnr] = nil
      state.stats[bufnr] = nil
      state.opened[bufnr] = nil
    end,
  })
end

local function open_unnamed(bufnr)
  if state.unnamed[bufnr] then
    return
  end
  if api.nvim_buf_line_count(bufnr) == 1 and api.nvim_buf_get_lines(bufnr, 0, 1, true)[1] == '' then
    return
  end
  local filetype = api.nvim_buf_get_option(bufnr, 'filetype')
  local uri = 'untitled:Untitled-' .. bufnr
  local tick = api.nvim_buf_get_changedtick(bufnr)
  local item = {
    uri = uri,
    version = tick,
    languageId = filetype == '' and 'plaintext' or filetype,
    text = whole_text(bufnr),
  }
  if notify_server('textDocument/didOpen', { textDocument = item }) then
    state.unnamed[bufnr] = { uri = uri, tick = tick }
    watch(bufnr)
    state.ticks[bufnr] = tick
  end
end

local function attach(bufnr)
  if state.client_id and is_unnamed(bufnr) then
    open_unnamed(bufnr)
  elseif state.client_id and is_file(bufnr) then
    if not state.stats[bufnr] then
      remember_file(bufnr)
    end
    if vim.lsp.buf_attach_client(bufnr, state.client_id) then
      watch(bufnr)
    end
  end
end

--- A buffer without a file may have a name by now. Its review goes on in the file, which is opened before the other one ends.
local function named(bufnr)
  if state.unnamed[bufnr] and is_file(bufnr) then
    tell_unnamed()
    attach(bufnr)
    local renamed = { oldUri = state.unnamed[bufnr].uri, newUri = vim.uri_from_bufnr(bufnr) }
    notify_server('workspace/didRenameFiles', { files = { renamed } })
    close_unnamed(bufnr)
  end
end

local function attach_all()
  for _, bufnr in ipairs(api.nvim_list_bufs()) do
    attach(bufnr)
  end
end

-- Requests from the sidecar -------------------------------------------------------------------------------------------

--- Marks in `copy`, which says what the buffer says or is the buffer, where the cursors of its windows are. A mark in a line
--- stays before what is inserted there; one at a line's start goes along with the line.
local function marked(bufnr, copy)
  local marks = {}
  for _, window in ipairs(vim.fn.win_findbuf(bufnr)) do
    local at = api.nvim_win_get_cursor(window)
    marks[window] = api.nvim_buf_set_extmark(copy, cursors, at[1] - 1, at[2], { right_gravity = at[2] == 0 })
  end
  return marks
end

--- The cursors go to their marks: who is typing goes on in the same place.
local function put_back(marks, copy)
  for window, mark in pairs(marks) do
    local at = api.nvim_buf_get_extmark_by_id(copy, cursors, mark, {})
    api.nvim_buf_del_extmark(copy, cursors, mark)
    if at[1] and api.nvim_win_is_valid(window) then
      pcall(api.nvim_win_set_cursor, window, { at[1] + 1, at[2] })
    end
  end
end

local handlers = {}

--- Saving is the editor's own, with the user's own autocommands; it never asks: where Neovim would ask whether to write
--- over a file that changed behind it, the answer is no.
handlers['sidecar/save'] = function(_, params)
  local bufnr = loaded(params.uri)
  if not bufnr or moved_on(bufnr, params.version) then
    return { saved = false }
  end
  if (stat(bufnr) or 'none') ~= (state.stats[bufnr] or 'none') then
    return { saved = false }
  end
  pcall(api.nvim_buf_call, bufnr, function()
    vim.cmd('silent update')
  end)
  return { saved = not api.nvim_buf_get_option(bufnr, 'modified') }
end

handlers['sidecar/open'] = function(_, params)
  local bufnr = loaded(params.uri)
  if not bufnr then
    bufnr = vim.uri_to_bufnr(params.uri)
    vim.fn.bufload(bufnr) -- also where a swap file exists, without its dialogue
    api.nvim_buf_set_option(bufnr, 'buflisted', true)
    state.opened[bufnr] = true
  end
  attach(bufnr)
  return { version = current_version(bufnr) }
end

--- Only what sidecar/open opened, and only while nobody looks at it and nothing in it is unsaved.
handlers['sidecar/close'] = function(_, params)
  local bufnr = loaded(params.uri)
  local idle = bufnr
    and state.opened[bufnr]
    and vim.fn.bufwinid(bufnr) == -1
    and not api.nvim_buf_get_option(bufnr, 'modified')
  if idle then
    api.nvim_buf_delete(bufnr, {})
  end
  return { closed = idle == true }
end

--- Ends the undo block of what was done so far: in insert mode an edit would otherwise share one with the typing around it.
local function close_undo_block(bufnr)
  api.nvim_buf_call(bufnr, function()
    vim.cmd('let &l:undolevels = &l:undolevels')
  end)
end

--- What is typed on in the same insert is an undo block of its own. Neovim 0.7 goes on without noting anything, and an undo of
--- the edit then replaces lines that are not the edit's: CTRL-G u, ahead of the next key, lets it begin anew. 0.11 does so itself.
local function begin_undo_block(bufnr)
  close_undo_block(bufnr)
  if not has_0_11 and bufnr == api.nvim_get_current_buf() and api.nvim_get_mode().mode:find('^[iR]') then
    api.nvim_feedkeys(api.nvim_replace_termcodes('<C-G>u', true, false, true), 'ni', false)
  end
end

--- The document takes the text on disk, then the edits. `changes` is both together: the cursors move as that moves them, tried
--- out on a copy, as they have no place while the text is taken anew.
handlers['sidecar/reload'] = function(_, params, context)
  local bufnr = loaded(params.uri)
  if not bufnr or moved_on(bufnr, params.version) then
    return { refused = 'version' }
  end
  local client = vim.lsp.get_client_by_id(context.client_id)
  local copy = api.nvim_create_buf(false, true)
  api.nvim_buf_set_lines(copy, 0, -1, true, api.nvim_buf_get_lines(bufnr, 0, -1, true))
  local marks = marked(bufnr, copy)
  vim.lsp.util.apply_text_edits(params.changes or {}, copy, client.offset_encoding)
  local done = pcall(api.nvim_buf_call, bufnr, function()
    vim.cmd('silent keepalt edit!') -- one undoable change, as long as the file has no more than 'undoreload' lines
  end)
  if done then
    attach(bufnr)
    vim.lsp.util.apply_text_edits(params.edits, bufnr, client.offset_encoding)
    put_back(marks, copy)
    begin_undo_block(bufnr)
  end
  api.nvim_buf_delete(copy, { force = true })
  if not done then
    return { refused = 'not-active' }
  end
  return { version = current_version(bufnr) }
end

--- Neovim makes a file for CreateFile, but not its folders (0.7), and an empty file's buffer already is one line with its end:
--- text put into it would gain a blank line. Returns the URIs of the files that are new.
local function prepare_new_files(changes)
  local new = {}
  for _, change in ipairs(changes) do
    if change.kind == 'create' then
      local path = vim.uri_to_fname(change.uri)
      if not vim.loop.fs_stat(path) then
        vim.fn.mkdir(vim.fn.fnamemodify(path, ':h'), 'p')
        new[change.uri] = true
      end
    elseif change.textDocument and new[change.textDocument.uri] and #change.edits == 1 then
      change.edits[1].newText = change.edits[1].newText:gsub('\r?\n$', '')
    end
  end
  return new
end

--- As Neovim's own, but a stale version is an answer (Neovim says applied and applies nothing), and no label is printed
--- (two printed lines are a hit-enter prompt, which stops everything).
handlers['workspace/applyEdit'] = function(_, params, context)
  local client = vim.lsp.get_client_by_id(context.client_id)
  for _, change in ipairs(params.edit.documentChanges or {}) do
    if change.textDocument and change.textDocument.version and change.textDocument.version ~= vim.NIL then
      local bufnr = loaded(change.textDocument.uri)
      if bufnr and moved_on(bufnr, change.textDocument.version) then
        return { applied = false, failureReason = 'version' }
      end
    end
  end
  local changes = params.edit.documentChanges or {}
  local new = prepare_new_files(changes)
  local marks = {}
  for _, change in ipairs(changes) do
    local bufnr = change.textDocument and loaded(change.textDocument.uri)
    if bufnr then
      close_undo_block(bufnr)
      marks[bufnr] = marks[bufnr] or marked(bufnr, bufnr)
    end
  end
  local done, problem = pcall(function()
    local others = {}
    for _, change in ipairs(changes) do
      local bufnr = change.textDocument and loaded(change.textDocument.uri)
      if bufnr and state.unnamed[bufnr] then -- Neovim's own would make a buffer with the URI as its name
        vim.lsp.util.apply_text_edits(change.edits, bufnr, client.offset_encoding)
      else
        table.insert(others, change)
      end
    end
    vim.lsp.util.apply_workspace_edit({ documentChanges = others }, client.offset_encoding)
  end)
  tell_unnamed()
  for bufnr, cursors_before in pairs(marks) do
    put_back(cursors_before, bufnr)
    begin_undo_block(bufnr)
  end
  for uri in pairs(new) do
    local bufnr = loaded(uri)
    if bufnr and vim.fn.bufwinid(bufnr) == -1 then
      state.opened[bufnr] = true -- sidecar/close may take it away again
    end
  end
  attach_all() -- a document that the edit made
  return { applied = done, failureReason = not done and tostring(problem) or nil }
end

-- Questions -----------------------------------------------------------------------------------------------------------

--- Neovim 0.7 must have the answer before it goes on, so it asks in the command line. What was typed before the question
--- is kept for the buffer, and so is what was typed into it without being an answer.
local function ask_now(question)
  local lines = { question.message }
  for index, action in ipairs(question.actions) do
    table.insert(lines, string.format('  %d. %s', index, action.title))
  end
  table.insert(lines, 'number and Enter (empty: not now): ')
  local typing = api.nvim_get_mode().mode:sub(1, 1) == 'i'
  vim.fn.inputsave()
  local asked, typed = pcall(vim.fn.input, table.concat(lines, '\n'))
  vim.fn.inputrestore()
  if not asked then
    return vim.NIL -- interrupted
  end
  local chosen = question.actions[tonumber(typed:match('^%s*(%d+)%s*$'))]
  if chosen == nil and typing and typed ~= '' then
    api.nvim_feedkeys(typed, 'n', false)
  end
  return chosen or vim.NIL
end

--- Newer ones go on: the question waits until :AcpAnswer.
handlers['window/showMessageRequest'] = function(_, params)
  local question = { message = params.message, actions = params.actions or {} }
  local thread, is_main = coroutine.running()
  if not thread or is_main then
    return ask_now(question)
  end
  question.answer = function(action)
    coroutine.resume(thread, action or vim.NIL)
  end
  table.insert(state.questions, question)
  notify(params.message, vim.log.levels.WARN, '  (:AcpAnswer)')
  return coroutine.yield()
end

--- A question that was withdrawn meanwhile (its turn was stopped, or it was answered in the chat) is asked no longer: Neovim does not
--- tell which request that was, but sidecar.status says what is still asked, and a question begins with that text.
function M.answer()
  if #state.questions == 0 then
    notify('nothing is asked')
    return
  end
  M.command('sidecar.status', nil, function(problem, status)
    if problem then
      notify(problem.message or tostring(problem), vim.log.levels.ERROR)
      return
    end
    local waiting = state.questions
    state.questions = {}
    for _, question in ipairs(waiting) do
      local asked = false
      for _, open in ipairs(status.questions) do
        asked = asked or vim.startswith(question.message, open.text)
      end
      if asked then
        table.insert(state.questions, question)
      else
        question.answer(nil)
      end
    end
    local question = table.remove(state.questions, 1)
    if not question then
      notify('nothing is asked any longer')
      return
    end
    local format = function(action)
      return action.title
    end
    vim.ui.select(question.actions, { prompt = question.message, format_item = format }, question.answer)
  end)
end

--- Neovim 0.7 has none of its own; the transcript of :AcpChat is opened by it.
if not vim.lsp.handlers['window/showDocument'] then
  handlers['window/showDocument'] = function(_, params)
    if params.external then
      return { success = false }
    end
    local bufnr = vim.uri_to_bufnr(params.uri)
    vim.fn.bufload(bufnr)
    api.nvim_buf_set_option(bufnr, 'buflisted', true)
    local window = vim.fn.bufwinid(bufnr)
    if window == -1 then
      local before = api.nvim_get_current_win()
      vim.cmd('sbuffer ' .. bufnr)
      window = api.nvim_get_current_win()
      api.nvim_set_current_win(before)
    end
    if params.takeFocus then
      api.nvim_set_current_win(window)
    end
    if params.selection then
      local at = params.selection.start
      local last = api.nvim_buf_line_count(bufnr)
      api.nvim_win_set_cursor(window, { math.min(at.line + 1, last), 0 })
    end
    return { success = true }
  end
end

--- Neovim's own puts a line end behind a message, and so makes a prompt of each.
handlers['window/showMessage'] = function(_, params)
  notify(params.message, ({ vim.log.levels.ERROR, vim.log.levels.WARN })[params.type])
end

--- For a buffer without a file, Neovim's own would make a buffer with the URI as its name.
handlers['textDocument/publishDiagnostics'] = function(problem, params, ...)
  if not params or not vim.startswith(params.uri, 'untitled:') then
    return vim.lsp.handlers['textDocument/publishDiagnostics'](problem, params, ...)
  end
  local bufnr = loaded(params.uri)
  local function shown(hint)
    local first, last = hint.range.start.line, hint.range['end'].line
    return { lnum = first, end_lnum = last, col = 0, severity = hint.severity, source = hint.source, message = hint.message }
  end
  if bufnr then
    vim.diagnostic.set(hints_unnamed, bufnr, vim.tbl_map(shown, params.diagnostics))
  end
end

handlers['sidecar/turnEnded'] = function(_, params)
  if state.config.on_turn_ended then
    state.config.on_turn_ended(params)
  else
    notify(string.format('turn ended (%s), files changed: %d', params.stopReason or '?', #(params.changes or {})))
  end
end

-- Review --------------------------------------------------------------------------------------------------------------

--- The first and the last line of a change, from 1; whole lines end at the start of the next one, which is not theirs.
local function lines_of(change)
  local first, last = change.range.start, change.range['end']
  local behind = last.character == 0 and last.line > first.line
  return first.line + 1, behind and last.line or last.line + 1
end

--- The agents' changes in the current buffer that nobody has looked at, from top to bottom.
local function with_changes(done)
  M.command('sidecar.listChanges', { uri = uri_of(api.nvim_get_current_buf()) }, function(problem, changes)
    if problem then
      notify(problem.message or tostring(problem), vim.log.levels.ERROR)
    elseif #changes == 0 then
      notify('no change of an agent in this buffer')
    else
      done(changes)
    end
  end)
end

local function reviewed(problem, result)
  if problem then
    notify(problem.message or tostring(problem), vim.log.levels.ERROR)
    return
  end
  for _, stuck in ipairs(result.impossible) do
    notify(stuck.reason, vim.log.levels.WARN)
  end
end

--- `name` is sidecar.keep or sidecar.reject.
local function review_here(name)
  local line = api.nvim_win_get_cursor(0)[1]
  with_changes(function(changes)
    for _, change in ipairs(changes) do
      local first, last = lines_of(change)
      if first <= line and line <= last then
        M.command(name, { changeId = change.changeId }, reviewed)
        return
      end
    end
    notify('no change of an agent in this line (:AcpNext goes to the next)')
  end)
end

local function review_all(name, everywhere)
  M.command(name, everywhere and { all = true } or { uri = uri_of(api.nvim_get_current_buf()) }, reviewed)
end

--- To the nearest change below (`step` 1) or above (-1); from the last one to the first.
local function go(step)
  local window = api.nvim_get_current_win()
  local line = api.nvim_win_get_cursor(window)[1]
  with_changes(function(changes)
    local from, to = 1, #changes
    if step < 0 then
      from, to = to, from
    end
    local target = lines_of(changes[from])
    for index = from, to, step do
      local first = lines_of(changes[index])
      if (first - line) * step > 0 then
        target = first
        break
      end
    end
    vim.cmd("normal! m'")
    local last = api.nvim_buf_line_count(api.nvim_win_get_buf(window))
    api.nvim_win_set_cursor(window, { math.min(target, last), 0 })
  end)
end

local review_keys = {
  [']h'] = 'AcpNext',
  ['[h'] = 'AcpPrevious',
  ['<leader>hk'] = 'AcpKeep',
  ['<leader>hr'] = 'AcpReject',
  ['<leader>hK'] = 'AcpKeepAll',
  ['<leader>hR'] = 'AcpRejectAll',
}

-- The client ----------------------------------------------------------------------------------------------------------

local own_settings = { cmd = true, root_dir = true, on_turn_ended = true, keys = true }

local function start()
  if state.client_id then
    return state.client_id
  end
  local options = {}
  for name, value in pairs(state.config) do
    if not own_settings[name] then
      options[name] = value
    end
  end
  options.client = vim.tbl_extend('force', { save = true, open = true, reload = true }, options.client or {})
  local capabilities = vim.lsp.protocol.make_client_capabilities()
  capabilities.window = vim.tbl_extend('force', capabilities.window or {}, { showDocument = { support = true } })
  local config = {
    name = 'acp-sidecar',
    capabilities = capabilities,
    cmd = state.config.cmd or { 'acp-sidecar', 'lsp' },
    root_dir = state.config.root_dir or vim.loop.cwd(),
    init_options = options,
    handlers = handlers,
    get_language_id = function(_, filetype)
      return filetype == '' and 'plaintext' or filetype
    end,
    on_attach = function(_, bufnr)
      -- The document was just opened: what was typed while the server started is in it, and is no change
      if state.ticks[bufnr] then
        state.ticks[bufnr] = has_0_11 and vim.lsp.util.buf_versions[bufnr] or 0
      end
    end,
    on_exit = function(code)
      state.client_id = nil
      state.questions = {}
      for bufnr in pairs(state.unnamed) do
        forget_unnamed(bufnr)
      end
      if code ~= 0 then
        vim.schedule(function()
          notify(string.format('ended with code %d; :AcpPrompt or :AcpChat starts it again', code), vim.log.levels.ERROR)
        end)
      end
    end,
  }
  if has_0_11 then
    state.client_id = vim.lsp.start(config, { attach = false })
  else
    state.client_id = vim.lsp.start_client(config)
  end
  if state.client_id then
    attach_all()
  else
    notify('cannot start ' .. table.concat(config.cmd, ' '), vim.log.levels.ERROR)
  end
  return state.client_id
end

--- Runs a sidecar.* command; `done(error, result)` is called when it has answered (default: errors are shown).
--- Waits for the server's start without blocking: Neovim sends nothing before initialize is answered.
function M.command(name, argument, done)
  local client = start() and vim.lsp.get_client_by_id(state.client_id)
  if not client then
    return
  end
  local function answered(problem, result)
    if done then
      done(problem, result)
    elseif problem then
      notify(problem.message or tostring(problem), vim.log.levels.ERROR)
    end
  end
  local params = { command = name, arguments = argument ~= nil and { argument } or {} }
  local tries = 0
  local function send()
    if client.initialized then
      attach_all() -- buffers without a file, in which something is by now
      tell_unnamed()
      if has_0_11 then
        client:request('workspace/executeCommand', params, answered)
      else
        client.request('workspace/executeCommand', params, answered)
      end
    elseif tries < 200 and state.client_id then
      tries = tries + 1
      vim.defer_fn(send, 50)
    else
      notify('the server did not start', vim.log.levels.ERROR)
    end
  end
  send()
end

--- For a status line: whether the sidecar is there (it starts with the first file).
function M.running()
  return state.client_id ~= nil
end

function M.status()
  M.command('sidecar.status', nil, function(problem, result)
    if problem then
      notify(problem.message, vim.log.levels.ERROR)
    else
      print(vim.inspect(result))
    end
  end)
end

function M.setup(config)
  state.config = config or {}
  local group = api.nvim_create_augroup('acp-sidecar', { clear = true })
  local function on(events, action)
    api.nvim_create_autocmd(events, {
      group = group,
      callback = function(event)
        action(event.buf)
      end,
    })
  end
  on({ 'BufReadPost', 'BufNewFile' }, function(bufnr)
    remember_file(bufnr)
    start()
    attach(bufnr)
  end)
  -- Before it is read, not after: somebody may write it meanwhile. Not FileChangedShellPost: what is not read again is as old as it was
  on('BufReadPre', remember_file)
  on('BufWritePost', function(bufnr)
    if not api.nvim_buf_get_option(bufnr, 'modified') then -- it also comes where the user did not write over a newer file
      remember_file(bufnr)
    end
  end)
  on({ 'BufWinEnter', 'TextChanged', 'TextChangedI' }, function(bufnr)
    state.opened[bufnr] = nil -- somebody looks at it now
    if is_unnamed(bufnr) then
      attach(bufnr)
    else
      named(bufnr)
      close_unnamed(bufnr) -- it is no such buffer any more, or too large
    end
  end)
  on('InsertLeave', function()
    local line = state.unseen
    state.unseen = false
    if line then
      vim.schedule(function()
        api.nvim_echo({ { line } }, false, {})
      end)
    end
  end)
  -- Another name is another document; Neovim would go on under the new one without opening it
  on('BufFilePre', function(bufnr)
    if state.ticks[bufnr] and not state.unnamed[bufnr] then
      notify_server('textDocument/didClose', { textDocument = { uri = vim.uri_from_bufnr(bufnr) } })
    end
  end)
  on('BufFilePost', function(bufnr)
    local client = state.client_id and vim.lsp.get_client_by_id(state.client_id)
    if client and state.ticks[bufnr] and is_file(bufnr) and not state.unnamed[bufnr] then
      remember_file(bufnr)
      if has_0_11 then
        client:_text_document_did_open_handler(bufnr)
      else
        client._on_attach(bufnr)
        state.ticks[bufnr] = 0
      end
    end
    named(bufnr)
  end)
  on('BufAdd', named) -- how :write NAME tells that a buffer has its first name

  local function command(name, action, attributes)
    api.nvim_create_user_command(name, function(call)
      action(call.args, call.bang)
    end, attributes or {})
  end
  command('AcpPrompt', function(text)
    M.command('sidecar.prompt', { prompt = text })
  end, { nargs = '+' })
  command('AcpNew', function(agent)
    M.command('sidecar.newSession', agent ~= '' and { agent = agent } or vim.empty_dict())
  end, { nargs = '?' })
  command('AcpChat', function()
    M.command('sidecar.openChat', vim.empty_dict())
  end)
  command('AcpCancel', function()
    M.command('sidecar.cancel', vim.empty_dict())
  end)
  command('AcpNext', function()
    go(1)
  end)
  command('AcpPrevious', function()
    go(-1)
  end)
  for word, name in pairs { Keep = 'sidecar.keep', Reject = 'sidecar.reject' } do
    command('Acp' .. word, function()
      review_here(name)
    end)
    command('Acp' .. word .. 'All', function(_, bang)
      review_all(name, bang)
    end, { bang = true })
  end
  if state.config.keys then
    for keys, name in pairs(review_keys) do
      vim.keymap.set('n', keys, '<Cmd>' .. name .. '<CR>', { desc = 'acp-sidecar: ' .. name })
    end
  end
  command('AcpAnswer', M.answer)
  command('AcpStatus', M.status)
  command('AcpMessages', function()
    print(table.concat(state.said, '\n'))
  end)
  command('AcpStop', function()
    if state.client_id then
      vim.lsp.stop_client(state.client_id)
    end
  end)

  for _, bufnr in ipairs(api.nvim_list_bufs()) do
    if is_file(bufnr) then
      start()
    end
  end
  attach_all()
end

return M
