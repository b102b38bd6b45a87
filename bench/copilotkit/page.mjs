// A page of CopilotKit: its own chat, with a tool of the page, drawn tool calls, and questions of the agent.
import {
  CopilotChat,
  CopilotKitProvider,
  useDefaultRenderTool,
  useFrontendTool,
  useInterrupt,
} from '@copilotkit/react-core/v2'
import { createElement as h } from 'react'
import { createRoot } from 'react-dom/client'
import { z } from 'zod'

function Page() {
  useFrontendTool({
    name: 'locate',
    description: 'Where the user is',
    parameters: z.object({}),
    handler: async () => 'Kyiv',
  })
  useDefaultRenderTool({
    render: ({ name, status, result }) => h('output', { className: 'tool' }, `${name} ${status} ${result ?? ''}`),
  })
  useInterrupt({
    agentId: 'desk',
    render: ({ interrupt, resolve }) =>
      h(
        'section',
        { className: 'question' },
        h('p', null, interrupt?.message),
        h('button', { className: 'approve', onClick: () => resolve({ approved: true }) }, 'Approve'),
        h('button', { className: 'deny', onClick: () => resolve({ approved: false }) }, 'Deny'),
      ),
  })
  return h(CopilotChat, { agentId: 'desk', threadId: 'thread-1' })
}

const provider = { runtimeUrl: '/api/copilotkit', headers: { authorization: 'Bearer ann' }, showDevConsole: false }
createRoot(document.querySelector('#root')).render(h(CopilotKitProvider, provider, h(Page)))
