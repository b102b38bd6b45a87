import { z } from 'zod'

import type { Operation } from './operation.ts'
import { errorSchema } from './response-schema.ts'

/** Returns the OpenAPI 3.1 description of a server. Its schemas are the ones that validate requests. */
export function openApiOf(operations: readonly Operation[], authenticated: boolean): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const operation of operations) {
    paths[operation.path] = { ...paths[operation.path], [operation.method]: describe(operation) }
  }
  for (const [path, method, operationId, summary] of protocols) {
    paths[path] = { [method]: describeProtocol(path, method, operationId, summary) }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Provost', version: '1', description: 'Agents over HTTP: runs are streams of server-sent events.' },
    paths,
    components: {
      schemas: { Error: schemaOf(errorSchema, 'output') },
      ...(authenticated && { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } }),
    },
    ...(authenticated && { security: [{ bearer: [] }] }),
  }
}

/** Routes of external protocols, whose specifications describe their bodies. */
const protocols = [
  ['/mcp', 'post', 'mcp', 'The agents as tools of an MCP server, over streamable HTTP.'],
  ['/a2a/{agent}', 'post', 'a2a', 'An agent over A2A: JSON-RPC, or a stream of it.'],
  ['/a2a/{agent}/.well-known/agent-card.json', 'get', 'agentCard', 'The A2A card of an agent.'],
  ['/.well-known/agent-card.json', 'get', 'firstAgentCard', 'The A2A card of the first agent.'],
] as const

function describeProtocol(path: string, method: 'get' | 'post', operationId: string, summary: string): object {
  const json = { 'application/json': { schema: { type: 'object' } } }
  const agent = { name: 'agent', in: 'path', required: true, schema: { type: 'string', minLength: 1 } }
  return {
    operationId,
    summary,
    ...(path.includes('{agent}') && { parameters: [agent] }),
    ...(method === 'post' && { requestBody: { required: true, content: json } }),
    responses: {
      200: {
        description: 'Done.',
        content: { ...json, ...(method === 'post' && { 'text/event-stream': { schema: { type: 'string' } } }) },
      },
      ...(path === '/mcp' && { 202: { description: 'A notification was accepted.' } }),
      '4XX': { ...refusal, content: { 'application/json': { schema: { anyOf: [errorRef, rpcError] } } } },
    },
  }
}

const errorRef = { $ref: '#/components/schemas/Error' }
/** The form of a JSON-RPC error. */
const rpcError = {
  type: 'object',
  properties: { jsonrpc: { const: '2.0' }, error: { type: 'object', required: ['code', 'message'] } },
  required: ['jsonrpc', 'error'],
}

const refusal = {
  description: 'Refused.',
  content: { 'application/json': { schema: errorRef } },
}

function describe({
  operationId,
  summary,
  path,
  body,
  query,
  headers = {},
  success,
  answer,
  stream,
}: Operation): object {
  const parameters = [
    ...(['id', 'agent'] as const).flatMap((name) =>
      path.includes(`{${name}}`)
        ? [{ name, in: 'path', required: true, schema: { type: 'string', minLength: 1 } }]
        : [],
    ),
    ...(query ? queryParameters(query) : []),
    ...Object.entries(headers).map(([name, description]) => ({
      name,
      in: 'header',
      required: false,
      description,
      schema: { type: 'string' },
    })),
  ]
  return {
    operationId,
    summary,
    ...(parameters.length > 0 && { parameters }),
    ...(body && {
      requestBody: { required: true, content: { 'application/json': { schema: schemaOf(body, 'input') } } },
    }),
    responses: {
      [success]: {
        description: 'Done.',
        ...(answer && { content: { 'application/json': { schema: schemaOf(answer, 'output') } } }),
        ...(stream !== undefined && { content: { [stream]: { schema: { type: 'string' } } } }),
      },
      '4XX': refusal,
    },
  }
}

function queryParameters(query: z.ZodType): readonly object[] {
  const { properties = {}, required = [] } = schemaOf(query, 'input')
  const requiredNames = Array.isArray(required) ? required : []
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: requiredNames.includes(name),
    schema,
  }))
}

function schemaOf(schema: z.ZodType, io: 'input' | 'output'): Record<string, unknown> & { properties?: object } {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io, unrepresentable: 'any' })
  return json
}
