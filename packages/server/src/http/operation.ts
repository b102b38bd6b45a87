import type { Principal } from '@provost/core'
import type { z } from 'zod'

/** A request that was let in, with what it says checked. */
export interface Asked {
  readonly principal: Principal
  readonly request: Request
  readonly id: string
  readonly query: unknown
  readonly body: unknown
}

/** One thing that a server can be asked for: its route, its description and what answers. */
export interface Operation {
  readonly method: 'get' | 'post' | 'delete'
  /** With `{id}` where the id of a session stands. */
  readonly path: string
  readonly operationId: string
  readonly summary: string
  readonly body?: z.ZodType
  readonly query?: z.ZodType
  /** Headers that it heeds. */
  readonly headers?: Readonly<Record<string, string>>
  readonly success: 200 | 202 | 204
  /** Of a JSON answer; `stream` names the media type of another one. */
  readonly answer?: z.ZodType
  readonly stream?: string
  handle(asked: Asked): Promise<Response>
}

/** An operation whose handler gets what its schemas let through. */
export function operation<B extends z.ZodType = z.ZodNever, Q extends z.ZodType = z.ZodNever>(
  options: Omit<Operation, 'body' | 'query' | 'handle'> & {
    readonly body?: B
    readonly query?: Q
    handle(
      asked: Omit<Asked, 'body' | 'query'> & { readonly body: z.output<B>; readonly query: z.output<Q> },
    ): Promise<Response>
  },
): Operation {
  return {
    ...options,
    handle(asked) {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the route has parsed both with these very schemas
      return options.handle(asked as Asked & { readonly body: z.output<B>; readonly query: z.output<Q> })
    },
  }
}
