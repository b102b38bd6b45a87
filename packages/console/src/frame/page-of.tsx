import { useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { Suspense } from 'react'

import { Empty, Loading } from '../look/states.tsx'
import type { PageView } from './page-view.ts'

/** The page that the address names. */
export function PageOf({ pages }: { readonly pages: readonly PageView[] }): ReactNode {
  const { page } = useParams({ from: '/$page' })
  const shown = pages.find(({ id }) => id === page)
  if (!shown) {
    return (
      <main id="main" tabIndex={-1}>
        <Empty title="The console has no such page." />
      </main>
    )
  }
  return (
    <Suspense fallback={<Loading />}>
      <shown.component />
    </Suspense>
  )
}
