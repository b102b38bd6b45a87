import type { Principal } from '@provost/core'
import type { z } from 'zod'

/** An authenticated request with its validated body and query. */
export interface AuthenticatedRequest {
  readonly principal: Principal
  readonly request: Request
  readonly id: string
  readonly query: unknown
  readonly body: unknown
}

/** An operation of the HTTP API: its route, its description and its handler. */
export interface Operation {
  readonly method: 'get' | 'post' | 'put' | 'delete'
  /** Path of the route, with `{id}` or `{agent}` for what {@link AuthenticatedRequest.id} names. */
  readonly path: string
  readonly operationId: string
  readonly summary: string
  readonly body?: z.ZodType
  /** Bytes of the body at most. Default: the limit `bodyBytes`. */
  readonly mostBytes?: number
  readonly query?: z.ZodType
  /** Headers that it reads, with descriptions. */
  readonly headers?: Readonly<Record<string, string>>
  readonly success: 200 | 202 | 204
  /** Schema of a JSON response; `stream` names another media type. */
  readonly answer?: z.ZodType
  readonly stream?: string
  handle(asked: AuthenticatedRequest): Promise<Response>
}

/** Creates an operation whose handler receives the output of its schemas. */
export function operation<B extends z.ZodType = z.ZodNever, Q extends z.ZodType = z.ZodNever>(
  options: Omit<Operation, 'body' | 'query' | 'handle'> & {
    readonly body?: B
    readonly query?: Q
    handle(
      asked: Omit<AuthenticatedRequest, 'body' | 'query'> & { readonly body: z.output<B>; readonly query: z.output<Q> },
    ): Promise<Response>
  },
): Operation {
  return {
    ...options,
    handle(asked) {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the route has parsed both with these very schemas
      return options.handle(asked as AuthenticatedRequest & { readonly body: z.output<B>; readonly query: z.output<Q> })
    },
  }
}
