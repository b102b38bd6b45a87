import { useQuery } from '@tanstack/react-query'
import { Navigate } from '@tanstack/react-router'
import type { ReactNode } from 'react'

import { Failure, Loading } from '../look/states.tsx'
import { waitsQuery } from '../wire/queries.ts'

/** Opens the inbox if something waits for a decision, else the sessions. */
export function Home(): ReactNode {
  const waits = useQuery(waitsQuery)
  if (waits.data) return <Navigate to={waits.data.length > 0 ? '/inbox' : '/sessions'} replace />
  return <main>{waits.error ? <Failure error={waits.error} /> : <Loading />}</main>
}
