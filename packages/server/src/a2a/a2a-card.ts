import type { AgentCard } from '@a2a-js/sdk'
import { isRecord } from '@provost/core'

import type { A2aSdk } from './a2a-sdk.ts'

/** An agent and its public address. */
export interface A2aAgent {
  readonly name: string
  readonly description?: string
  /** Public address of the server. */
  readonly base: string
  readonly authenticated: boolean
}

/** Returns the A2A card of an agent: its name, its address, and whether it requires credentials. */
export function agentCard(sdk: A2aSdk, agent: A2aAgent): AgentCard {
  const { name, description = `The agent ${name}.`, authenticated } = agent
  return {
    name,
    description,
    version: '1',
    provider: undefined,
    supportedInterfaces: [
      {
        url: addressOf(agent),
        protocolBinding: 'JSONRPC',
        tenant: '',
        protocolVersion: sdk.A2A_PROTOCOL_VERSION,
      },
    ],
    capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: false, extensions: [] },
    securitySchemes: authenticated
      ? {
          bearer: {
            scheme: { $case: 'httpAuthSecurityScheme', value: { scheme: 'bearer', bearerFormat: '', description: '' } },
          },
        }
      : {},
    securityRequirements: authenticated ? [{ schemes: { bearer: { list: [] } } }] : [],
    defaultInputModes: ['text/plain', 'application/json'],
    defaultOutputModes: ['text/plain', 'application/json'],
    skills: [
      {
        id: name,
        name,
        description,
        tags: ['agent'],
        examples: [],
        inputModes: [],
        outputModes: [],
        securityRequirements: [],
      },
    ],
    signatures: [],
  }
}

/** Returns the card as JSON, with the fields in which clients of A2A 0.3 look for the address and the credentials. */
export function cardJson(sdk: A2aSdk, agent: A2aAgent): object {
  const card = sdk.AgentCard.toJSON(agentCard(sdk, agent))
  const legacy = { url: addressOf(agent), preferredTransport: 'JSONRPC', protocolVersion: '0.3.0' }
  if (!agent.authenticated || !isRecord(card)) return Object.assign({}, card, legacy)
  const schemes = isRecord(card['securitySchemes']) ? card['securitySchemes'] : {}
  const bearer = { ...(isRecord(schemes['bearer']) && schemes['bearer']), type: 'http', scheme: 'bearer' }
  return { ...card, ...legacy, securitySchemes: { ...schemes, bearer }, security: [{ bearer: [] }] }
}

function addressOf({ base, name }: A2aAgent): string {
  return `${base}/a2a/${encodeURIComponent(name)}`
}
