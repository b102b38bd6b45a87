// A page of assistant-ui: its own thread, composer and action bars, over the chat routes of a Provost server.
import { useChat } from '@ai-sdk/react'
import {
  ActionBarPrimitive,
  AssistantRuntimeProvider,
  AttachmentPrimitive,
  ComposerPrimitive,
  MessagePrimitive,
  ThreadPrimitive,
  useAuiState,
} from '@assistant-ui/react'
import { useAISDKRuntime } from '@assistant-ui/react-ai-sdk'
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai'
import { createElement as h, useState } from 'react'
import { createRoot } from 'react-dom/client'

const id = 'assistant-ui'

const Text = ({ text }) => h('span', null, text)

/** A tool call, with the buttons of an open approval. */
function Tool({ toolName, result, approval, respondToApproval }) {
  const answer = (approved) => () => void respondToApproval({ approved })
  const isOpen = approval && approval.approved === undefined
  return h(
    'section',
    null,
    h('output', null, `${toolName} ${result === undefined ? 'open' : JSON.stringify(result)}`),
    isOpen && h('button', { className: 'approve', onClick: answer(true) }, 'Approve'),
    isOpen && h('button', { className: 'deny', onClick: answer(false) }, 'Deny'),
  )
}

/** An attached file, with its picture or a link to it once it is sent. */
function Attachment() {
  const content = useAuiState(({ attachment }) => attachment.content?.[0])
  const address = content?.image ?? content?.data
  return h(
    AttachmentPrimitive.Root,
    { className: 'attachment' },
    h(AttachmentPrimitive.Name),
    content?.type === 'image' ? h('img', { src: address, alt: '' }) : address && h('a', { href: address }, 'open'),
  )
}

const parts = { Text, tools: { Fallback: Tool } }
const UserMessage = () =>
  h(
    MessagePrimitive.Root,
    { className: 'user' },
    h(MessagePrimitive.Parts, { components: parts }),
    h(MessagePrimitive.Attachments, { components: { Attachment } }),
    h(ActionBarPrimitive.Edit, { className: 'edit' }, 'Edit'),
  )
const AssistantMessage = () =>
  h(
    MessagePrimitive.Root,
    { className: 'assistant' },
    h(MessagePrimitive.Parts, { components: parts }),
    h(ActionBarPrimitive.Reload, { className: 'regenerate' }, 'Regenerate'),
  )
const EditComposer = () =>
  h(
    ComposerPrimitive.Root,
    { className: 'editor' },
    h(ComposerPrimitive.Input, { className: 'edited' }),
    h(ComposerPrimitive.Send, { className: 'save' }, 'Save'),
  )

function Page({ messages }) {
  const [transport] = useState(() => new DefaultChatTransport({ api: '/api/chat' }))
  const chat = useChat({
    id,
    messages,
    resume: true,
    transport,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  })
  const runtime = useAISDKRuntime(chat)
  return h(
    AssistantRuntimeProvider,
    { runtime },
    h(
      ThreadPrimitive.Root,
      null,
      h(ThreadPrimitive.Messages, { components: { UserMessage, AssistantMessage, EditComposer } }),
      h(
        ComposerPrimitive.Root,
        { className: 'composer' },
        h(ComposerPrimitive.Attachments, { components: { Attachment } }),
        h(ComposerPrimitive.AddAttachment, { className: 'attach' }, 'Attach'),
        h(ComposerPrimitive.Input, { className: 'text' }),
        h(ThreadPrimitive.If, { running: false }, h(ComposerPrimitive.Send, { className: 'send' }, 'Send')),
        h(ThreadPrimitive.If, { running: true }, h(ComposerPrimitive.Cancel, { className: 'stop' }, 'Stop')),
      ),
    ),
  )
}

const answer = await fetch(`/api/chat/${id}`)
const messages = await answer.json()
createRoot(document.querySelector('#root')).render(h(Page, { messages }))
