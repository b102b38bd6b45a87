import { useQueryClient } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useState } from 'react'

import { setToken } from '../wire/connection.ts'

/** Asks for the token, where the server accepts neither a cookie nor the token of the address. */
export function TokenPrompt({ wasRefused }: { readonly wasRefused: boolean }): ReactNode {
  const [text, setText] = useState('')
  const queries = useQueryClient()
  return (
    <main className="state" tabIndex={-1}>
      <form
        className="token"
        onSubmit={(event) => {
          event.preventDefault()
          setToken(text.trim())
          void queries.resetQueries()
        }}
      >
        <h1>Which token?</h1>
        <p>
          {wasRefused
            ? 'The server does not accept the token of this tab: it is wrong, or has expired.'
            : 'The server does not know who you are.'}{' '}
          Paste a token, open the whole address that the server printed, or sign in to the application and load this
          page again. The page keeps a token until you close the tab.
        </p>
        <label>
          Token
          <input
            type="password"
            autoComplete="off"
            required
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
          />
        </label>
        <button type="submit" className="primary">
          Continue
        </button>
      </form>
    </main>
  )
}
