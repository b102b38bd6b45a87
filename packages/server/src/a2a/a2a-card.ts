import type { AgentCard } from '@a2a-js/sdk'

import type { A2aSdk } from './a2a-sdk.ts'

/** Returns the A2A card of an agent: its name, its address, and whether it requires credentials. */
export function agentCard(
  sdk: A2aSdk,
  { name, base, authenticated }: { name: string; base: string; authenticated: boolean },
): AgentCard {
  const description = `The agent ${name}.`
  return {
    name,
    description,
    version: '1',
    provider: undefined,
    supportedInterfaces: [
      {
        url: `${base}/a2a/${encodeURIComponent(name)}`,
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
