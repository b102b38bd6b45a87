import { z } from 'zod'

import type { Operation } from './operation.ts'
import { errorSchema } from './response-schema.ts'

/** The description of a server, in OpenAPI 3.1: its schemas are those that requests are checked with. */
export function openApiOf(operations: readonly Operation[], authenticated: boolean): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const operation of operations) {
    paths[operation.path] = { ...paths[operation.path], [operation.method]: describe(operation) }
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
    ...(path.includes('{id}')
      ? [{ name: 'id', in: 'path', required: true, schema: { type: 'string', minLength: 1 } }]
      : []),
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
      '4XX': {
        description: 'Refused.',
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
    },
  }
}

function queryParameters(query: z.ZodType): readonly object[] {
  const { properties = {}, required = [] } = schemaOf(query, 'input')
  const wanted = Array.isArray(required) ? required : []
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: wanted.includes(name),
    schema,
  }))
}

function schemaOf(schema: z.ZodType, io: 'input' | 'output'): Record<string, unknown> & { properties?: object } {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io, unrepresentable: 'any' })
  return json
}
