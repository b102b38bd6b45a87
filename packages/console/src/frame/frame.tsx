import { useQuery } from '@tanstack/react-query'
import { Link, Outlet, useNavigate } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useEffect, useState } from 'react'

import { useKeys } from '../keys/key-map.ts'
import { Icon } from '../look/icon.tsx'
import { Empty, Failure, Loading } from '../look/states.tsx'
import { useTheme } from '../look/theme.ts'
import { hasToken } from '../wire/connection.ts'
import { startFeed } from '../wire/feed.ts'
import { accessQuery, feedInto, queries, waitsQuery } from '../wire/queries.ts'
import { Account, SignOut } from './account.tsx'
import { KeyHelp } from './key-help.tsx'
import { LiveDot } from './live-dot.tsx'
import type { PageView } from './page-view.ts'
import { Toasts } from './toast.tsx'
import { TokenPrompt } from './token-prompt.tsx'

/** What surrounds all views. */
export function Frame({ pages }: { readonly pages: readonly PageView[] }): ReactNode {
  const [helps, setHelps] = useState(false)
  const [theme, changeTheme] = useTheme()
  const access = useQuery(accessQuery)
  const navigate = useNavigate()
  // What was read before stays while the server is gone, and not once it refuses the reader.
  const status = statusOf(access.error)
  const hasAccess = access.data !== undefined && status !== 401 && status !== 403
  useEffect(() => (hasAccess ? startFeed(feedInto(queries)) : undefined), [hasAccess])
  useKeys('Everywhere', [
    { key: 'g i', does: 'go to the Inbox', run: () => void navigate({ to: '/inbox' }) },
    { key: 'g s', does: 'go to Sessions', run: () => void navigate({ to: '/sessions' }) },
    ...pages.map(({ id, name, key }) => ({
      key: `g ${key}`,
      does: `go to ${name}`,
      run: () => void navigate({ to: '/$page', params: { page: id } }),
    })),
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
          <Link to="/inbox" activeOptions={{ includeSearch: false }}>
            Inbox <WaitCount isOn={hasAccess} />
          </Link>
          <Link to="/sessions" activeOptions={{ includeSearch: false }}>
            Sessions
          </Link>
          {pages
            .filter(({ isUnlisted }) => isUnlisted !== true)
            .map(({ id, name }) => (
              <Link key={id} to="/$page" params={{ page: id }}>
                {name}
              </Link>
            ))}
        </nav>
        <span className="grow" />
        {hasAccess && <LiveDot />}
        {hasAccess && <Account />}
        <button type="button" className="quiet" onClick={() => setHelps(true)} aria-label="Keys">
          <kbd>?</kbd>
        </button>
        <button type="button" className="quiet" onClick={changeTheme} aria-label={`Theme: ${theme}. Change it.`}>
          <Icon name={theme === 'dark' ? 'moon' : 'sun'} />
        </button>
      </header>
      {hasAccess ? <Outlet /> : <Gate error={access.error} />}
      <Toasts />
      {helps && <KeyHelp onClose={() => setHelps(false)} />}
    </>
  )
}

function WaitCount({ isOn }: { readonly isOn: boolean }): ReactNode {
  const { data = [] } = useQuery({ ...waitsQuery, enabled: isOn })
  if (data.length === 0) return null
  return (
    <span className="count">
      {data.length}
      <span className="sr"> waiting</span>
    </span>
  )
}

function statusOf(error: Error | null): unknown {
  return error && 'status' in error ? error.status : undefined
}

/** What is shown until the server has told what the principal may do. */
function Gate({ error }: { readonly error: Error | null }): ReactNode {
  const status = statusOf(error)
  if (status === 401) return <TokenPrompt wasRefused={hasToken()} />
  return (
    <main id="main" tabIndex={-1}>
      {!error && <Loading />}
      {error && status !== 403 && <Failure error={error} />}
      {error && status === 403 && (
        <Empty title="You have no right to use this console.">
          <p>
            {error.message} Ask the operator of the server for the role <code>view</code>, <code>decide</code> or{' '}
            <code>operate</code>: the <code>operator</code> function of <code>createServer</code> returns it.
          </p>
          {hasToken() && <SignOut />}
        </Empty>
      )}
    </main>
  )
}
