/** A page with both clients: `useChat` over `chatTransport`, and a session of `createClient`. */
import { useChat } from '@ai-sdk/react'
import { lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai'
import { createClient } from 'provost/client'
import { chatTransport } from 'provost/client/ai'
import { createElement as h, useState } from 'react'
import { createRoot } from 'react-dom/client'

function Page() {
  const [plain, setPlain] = useState('')
  const { messages, sendMessage, addToolApprovalResponse, error } = useChat({
    transport: chatTransport(),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  })
  const execute = async () => {
    const stream = createClient({ baseUrl: location.origin })
      .session()
      .execute('Refund 80 euros', {
        onApproval: () => 'deny',
      })
    let text = ''
    for await (const event of stream) if (event.type === 'text.delta') text += event.delta
    setPlain(`${(await stream.result).status}: ${text}`)
  }
  return [
    h('button', { key: 'chat', id: 'chat', onClick: () => void sendMessage({ text: 'Refund 80 euros' }) }, 'Chat'),
    h('button', { key: 'session', id: 'session', onClick: () => void execute() }, 'Session'),
    h('output', { key: 'plain', id: 'plain' }, plain),
    error && h('b', { key: 'error' }, error.message),
    ...messages.flatMap(({ id, parts }) =>
      parts.map((part, n) => {
        const key = `${id}${n}`
        if (part.type === 'text') return h('p', { key }, part.text)
        if (part.type !== 'tool-refund' || part.state !== 'approval-requested') return null
        const approve = () => void addToolApprovalResponse({ id: part.approval.id, approved: true })
        return h('button', { key, id: 'approve', onClick: approve }, `Approve ${JSON.stringify(part.input)}`)
      }),
    ),
  ]
}

createRoot(document.querySelector('#root')).render(h(Page))
