import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

import type { ConsoleOptions } from '../options/console-options.ts'
import type { ServerOptions } from '../options/server-options.ts'

/** The console of a server, with its defaults. */
export interface ConsoleSetup {
  readonly path: string
  readonly page: ConsoleOptions['page']
  /** The token of local mode; absent where the application authenticates. */
  readonly token: string | undefined
}

/** Returns the console of a server; undefined if it serves none. */
export function consoleSetup({ console: given, authenticate }: ServerOptions): ConsoleSetup | undefined {
  if (given === undefined || given === false) return undefined
  const { path = '/console', page, token }: ConsoleOptions = given === true ? {} : given
  return { path, page, token: authenticate ? undefined : (token ?? randomBytes(24).toString('base64url')) }
}

/** Returns the address of the console below the server's own, with the token in the fragment: browsers do not send it. */
export function consoleAddress({ path, token }: ConsoleSetup): string {
  return `${path}/${token === undefined ? '' : `#t=${encodeURIComponent(token)}`}`
}

/** Whether a request has the token of local mode. */
export function hasToken(request: Request, token: string): boolean {
  const [, sent = ''] = /^Bearer (.+)$/u.exec(request.headers.get('authorization') ?? '') ?? []
  return timingSafeEqual(digest(sent), digest(token))
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
