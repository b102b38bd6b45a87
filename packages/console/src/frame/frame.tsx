import { useQuery } from '@tanstack/react-query'
import { Link, Outlet, useNavigate } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useState } from 'react'

import { useKeys } from '../keys/key-map.ts'
import { Icon } from '../look/icon.tsx'
import { Empty, Failure, Loading } from '../look/states.tsx'
import { useTheme } from '../look/theme.ts'
import { hasToken } from '../wire/connection.ts'
import { sessionsQuery } from '../wire/queries.ts'
import { KeyHelp } from './key-help.tsx'
import { LiveDot } from './live-dot.tsx'
import { TokenPrompt } from './token-prompt.tsx'

/** What surrounds all views. */
export function Frame(): ReactNode {
  const [helps, setHelps] = useState(false)
  const [theme, changeTheme] = useTheme()
  const { data, error } = useQuery(sessionsQuery)
  const navigate = useNavigate()
  useKeys('Everywhere', [
    { key: 'g s', does: 'go to the sessions', run: () => void navigate({ to: '/sessions' }) },
    { key: '?', does: 'show all keys', run: () => setHelps(true) },
  ])
  return (
    <>
      <a className="skip" href="#main">
        Skip to the view
      </a>
      <header className="top">
        <Link className="brand" to="/">
          Provost
        </Link>
        <nav aria-label="Views">
          <Link to="/sessions">Sessions</Link>
        </nav>
        <span className="grow" />
        {data && <LiveDot />}
        <button type="button" className="quiet" onClick={() => setHelps(true)} aria-label="Keys">
          <kbd>?</kbd>
        </button>
        <button type="button" className="quiet" onClick={changeTheme} aria-label={`Theme: ${theme}. Change it.`}>
          <Icon name={theme === 'dark' ? 'moon' : 'sun'} />
        </button>
      </header>
      {data ? <Outlet /> : <Gate error={error} />}
      {helps && <KeyHelp onClose={() => setHelps(false)} />}
    </>
  )
}

/** What is shown until the server has answered. */
function Gate({ error }: { readonly error: Error | null }): ReactNode {
  const status = error && 'status' in error ? error.status : undefined
  if (status === 401) return <TokenPrompt wasRefused={hasToken()} />
  return (
    <main id="main" tabIndex={-1}>
      {!error && <Loading />}
      {error && status !== 403 && <Failure error={error} />}
      {error && status === 403 && (
        <Empty title="You have no right to list sessions.">
          <p>{error.message} Ask the operator of the server to permit it.</p>
        </Empty>
      )}
    </main>
  )
}
