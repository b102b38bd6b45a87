import type { Json, Principal } from '@provost/core'

import type { OperationSetup } from '../api/operation-setup.ts'
import type { Operation } from '../http/operation.ts'
import { operation } from '../http/operation.ts'
import { modelSchema, modelsSchema } from './completion-schema.ts'

/** Returns the routes that list the agents as models, for clients of OpenAI's API. */
export function modelRoutes({ host, allow, permits }: OperationSetup): readonly Operation[] {
  const modelOf = (name: string): Json => {
    const { description } = host.agentOf(name)
    const more = description === undefined ? {} : { description }
    return { id: name, object: 'model', created: 0, owned_by: 'provost', ...more }
  }

  async function permitted(principal: Principal): Promise<readonly string[]> {
    const names: string[] = []
    for (const name of host.agentNames) if (await permits(principal, { kind: 'run', agent: name })) names.push(name)
    return names
  }

  return [
    operation({
      method: 'get',
      path: '/v1/models',
      operationId: 'listModels',
      summary: 'The agents that the principal may run, as models of OpenAI clients.',
      success: 200,
      answer: modelsSchema,
      handle: async ({ principal }) =>
        Response.json({ object: 'list', data: (await permitted(principal)).map((name) => modelOf(name)) }),
    }),
    operation({
      method: 'get',
      path: '/v1/models/{id}',
      operationId: 'getModel',
      summary: 'An agent as a model.',
      success: 200,
      answer: modelSchema,
      async handle({ principal, id }) {
        const model = modelOf(id)
        await allow(principal, { kind: 'run', agent: id })
        return Response.json(model)
      },
    }),
  ]
}
