// A page of CopilotKit: its own chat, with a tool of the page, drawn tool calls, and questions of the agent.
import {
  CopilotChat,
  CopilotKitProvider,
  useDefaultRenderTool,
  useFrontendTool,
  useInterrupt,
} from '@copilotkit/react-core/v2'
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
    render: ({ name, status, result }) => <output className="tool">{`${name} ${status} ${result ?? ''}`}</output>,
  })
  useInterrupt({
    agentId: 'desk',
    render: ({ interrupt, resolve }) => (
      <section className="question">
        <p>{interrupt?.message}</p>
        <button className="approve" onClick={() => resolve({ approved: true })}>
          Approve
        </button>
        <button className="deny" onClick={() => resolve({ approved: false })}>
          Deny
        </button>
      </section>
    ),
  })
  return <CopilotChat agentId="desk" threadId="thread-1" />
}

const provider = { runtimeUrl: '/api/copilotkit', headers: { authorization: 'Bearer ann' }, showDevConsole: false }
createRoot(document.querySelector('#root')).render(
  <CopilotKitProvider {...provider}>
    <Page />
  </CopilotKitProvider>,
)
