import type { Client } from '@provost/client'
import { createClient } from '@provost/client'

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

export function hasToken(): boolean {
  return sessionStorage.getItem(tokenKey) !== null
}
