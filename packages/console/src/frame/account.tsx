import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useEffect, useRef, useState } from 'react'

import { Icon } from '../look/icon.tsx'
import { Words } from '../look/words.tsx'
import { clearToken, hasToken } from '../wire/connection.ts'
import { accessQuery } from '../wire/queries.ts'

/** Who the server takes the reader for, and the way out. */
export function Account(): ReactNode {
  const [isOpen, setIsOpen] = useState(false)
  return (
    <>
      <button type="button" className="quiet" aria-label="Who you are" onClick={() => setIsOpen(true)}>
        <Icon name="user" />
      </button>
      {isOpen && <AccountDialog onClose={() => setIsOpen(false)} />}
    </>
  )
}

function AccountDialog({ onClose }: { readonly onClose: () => void }): ReactNode {
  const dialog = useRef<HTMLDialogElement>(null)
  const { data: access } = useQuery(accessQuery)
  useEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog ref={dialog} className="dialog" aria-labelledby="account" onClose={onClose}>
      <div className="dialog-head">
        <h2 id="account">Who you are</h2>
        <button type="button" className="quiet" aria-label="Close" onClick={() => dialog.current?.close()}>
          <Icon name="cross" />
        </button>
      </div>
      {access && (
        <p>
          The server knows you as <strong>{<Words limit={200}>{access.principal}</Words>}</strong>, with the role{' '}
          <code>{access.role}</code>.{access.withheld && ' Secret values are withheld from you.'}
        </p>
      )}
      {hasToken() ? (
        <p>
          By the token of this tab. <SignOut />
        </p>
      ) : (
        <p className="dim">By the cookies of this browser: sign out where you signed in.</p>
      )}
    </dialog>
  )
}

/** Forgets the token and all that was read with it. */
export function SignOut(): ReactNode {
  const queries = useQueryClient()
  return (
    <button
      type="button"
      onClick={() => {
        clearToken()
        void queries.resetQueries()
      }}
    >
      Sign out
    </button>
  )
}
