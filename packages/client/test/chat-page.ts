import { useChat } from '@ai-sdk/react'
import { chatTransport } from '@provost/client/ai'
import { getToolName, isToolUIPart, lastAssistantMessageIsCompleteWithApprovalResponses, type UIMessage } from 'ai'
import { createElement as h, type ReactNode, useState } from 'react'
import { createRoot } from 'react-dom/client'

const id = 'tour'

/** A chat page in which a person can do what chat pages offer. */
function Page({ initial }: { readonly initial: UIMessage[] }): ReactNode {
  const [text, setText] = useState('')
  const [files, setFiles] = useState<FileList | undefined>()
  const [editing, setEditing] = useState<string | undefined>()
  const { messages, sendMessage, regenerate, stop, addToolApprovalResponse, status, error } = useChat({
    id,
    messages: initial,
    resume: true,
    transport: chatTransport(),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  })
  const send = (): void => {
    void sendMessage({ text, ...(files && { files }), ...(editing !== undefined && { messageId: editing }) })
    setText('')
    setFiles(undefined)
    setEditing(undefined)
  }
  const shown = (part: UIMessage['parts'][number], key: string): ReactNode => {
    if (part.type === 'text') return h('span', { key }, part.text)
    if (part.type === 'file') return h('img', { key, src: part.url, alt: part.filename ?? 'file' })
    if (!isToolUIPart(part)) return null
    const answer = (approved: boolean) => () => {
      if (part.state === 'approval-requested') void addToolApprovalResponse({ id: part.approval.id, approved })
    }
    return h(
      'section',
      { key },
      h('output', null, `${getToolName(part)} ${part.state} ${'output' in part ? JSON.stringify(part.output) : ''}`),
      part.state === 'approval-requested' && [
        h('button', { key: 'yes', className: 'approve', onClick: answer(true) }, 'Approve'),
        h('button', { key: 'no', className: 'deny', onClick: answer(false) }, 'Deny'),
      ],
    )
  }
  return h(
    'main',
    null,
    messages.map(({ id: messageId, role, parts }) =>
      h(
        'article',
        { key: messageId, className: role },
        parts.map((part, index) => shown(part, `${messageId}${index}`)),
        role === 'user' && h('button', { className: 'edit', onClick: () => setEditing(messageId) }, 'Edit'),
      ),
    ),
    h('i', { id: 'status' }, status),
    error && h('b', { id: 'error' }, error.message),
    h('input', { id: 'text', value: text, onChange: (event) => setText(event.currentTarget.value) }),
    h('input', { id: 'files', type: 'file', onChange: (event) => setFiles(event.currentTarget.files ?? undefined) }),
    h('button', { id: 'send', onClick: send }, 'Send'),
    h('button', { id: 'stop', onClick: () => void stop() }, 'Stop'),
    h('button', { id: 'regenerate', onClick: () => void regenerate() }, 'Regenerate'),
  )
}

const root = document.querySelector('#root')
const initial: UIMessage[] = await (await fetch(`/api/chat/${id}`)).json()
if (root) createRoot(root).render(h(Page, { initial }))
