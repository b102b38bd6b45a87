import type { Client } from '@provost/client'
import { ServerError, createClient } from '@provost/client'

/** Where the server says that it serves the page. */
const { mount = '', prefix = '' } = document.documentElement.dataset

/** Path below which the views are, such as `/console`. */
export const mountPath = mount

const tokenKey = 'provost.token'

/** Takes the token from the fragment of the address, and removes it there: it must not stay in the history or in a copied link. */
export function takeToken(): void {
  const sent = new URLSearchParams(location.hash.slice(1)).get('t')
  if (sent === null) return
  setToken(sent)
  history.replaceState(history.state, '', location.pathname + location.search)
}

export function setToken(token: string): void {
  sessionStorage.setItem(tokenKey, token)
}

/** Forgets the token of this tab. */
export function clearToken(): void {
  sessionStorage.removeItem(tokenKey)
}

/** The route that tells what the principal may do. */
export const accessPath = '/api/console/access'

let refused = (): void => {}

/** Calls a function whenever the server no longer accepts the credentials of the page. */
export function onRefused(listener: () => void): void {
  refused = listener
}

/** The credentials of the page. */
export function headers(): Readonly<Record<string, string>> {
  const token = sessionStorage.getItem(tokenKey)
  // Without a token the browser's own cookies are the credentials.
  return token === null ? {} : { authorization: `Bearer ${token}` }
}

/** Address of the API, for commands that the page shows. */
export const apiUrl = location.origin + prefix

/** The client of the routes under `/api/agent`. */
export const client: Client = createClient({ baseUrl: apiUrl, headers })

/** A request to a route that the client does not have. */
export interface Asking {
  readonly query?: Readonly<Record<string, string | number | undefined>>
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
}

/**
 * Sends a request to the API.
 *
 * @throws ServerError for an error response; TypeError without a response.
 */
export async function ask(path: string, { query = {}, body, headers: more, signal }: Asking = {}): Promise<Response> {
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]))
  const search = given.length > 0 ? `?${new URLSearchParams(given)}` : ''
  const response = await fetch(`${apiUrl}${path}${search}`, {
    headers: { ...headers(), ...more, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
    ...(signal && { signal }),
  })
  if (response.ok) return response
  if (response.status === 401 && path !== accessPath) refused()
  throw new ServerError(response.status, await response.json().catch(() => undefined))
}

/** Returns the JSON answer of a route. Its schema is the server's. */
export async function askJson<T>(path: string, asking?: Asking): Promise<T> {
  const answer: T = await (await ask(path, asking)).json()
  return answer
}

export function hasToken(): boolean {
  return sessionStorage.getItem(tokenKey) !== null
}
