import { QueryClientProvider } from '@tanstack/react-query'
import { Navigate, RouterProvider, createRootRoute, createRoute, createRouter } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'

import { Frame } from './frame/frame.tsx'
import { startKeys } from './keys/key-map.ts'
import { Empty, Failure } from './look/states.tsx'
import { startTheme } from './look/theme.ts'
import { SessionList } from './sessions/session-list.tsx'
import { Talk } from './talk/talk.tsx'
import { mountPath, takeToken } from './wire/connection.ts'
import { queries } from './wire/queries.ts'

const root = createRootRoute({
  component: Frame,
  notFoundComponent: () => (
    <main>
      <Empty title="The console has no such view." />
    </main>
  ),
  errorComponent: ({ error }) => (
    <main>
      <Failure error={error} retry={() => location.reload()} />
    </main>
  ),
})
const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

const router = createRouter({
  basepath: mountPath,
  routeTree: root.addChildren([
    createRoute({ getParentRoute: () => root, path: '/', component: () => <Navigate to="/sessions" replace /> }),
    createRoute({
      getParentRoute: () => root,
      path: '/sessions',
      component: SessionList,
      validateSearch: ({ q, status }): { q?: string | undefined; status?: string | undefined } => ({
        q: text(q),
        status: text(status),
      }),
    }),
    createRoute({ getParentRoute: () => root, path: '/sessions/$id', component: Talk }),
  ]),
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}

takeToken()
startTheme()
startKeys()
const element = document.querySelector('#root')
if (element) {
  createRoot(element).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </StrictMode>,
  )
}
