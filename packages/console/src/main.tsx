import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider, createRootRoute, createRoute, createRouter } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'

import { Frame } from './frame/frame.tsx'
import { Home } from './frame/home.tsx'
import { PageOf } from './frame/page-of.tsx'
import { Inbox, readInboxSearch } from './inbox/inbox.tsx'
import { startKeys } from './keys/key-map.ts'
import { Empty, Failure } from './look/states.tsx'
import { startTheme } from './look/theme.ts'
import { readListSearch } from './sessions/session-filter.tsx'
import { SessionList } from './sessions/session-list.tsx'
import { SessionPage, ToView } from './sessions/session-page.tsx'
import { readViewSearch } from './sessions/session-view.ts'
import { pageViews, sessionViews } from './views.ts'
import { mountPath, takeToken } from './wire/connection.ts'
import { queries } from './wire/queries.ts'

const root = createRootRoute({
  component: () => <Frame pages={pageViews} />,
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
const [firstView] = sessionViews

const router = createRouter({
  basepath: mountPath,
  routeTree: root.addChildren([
    createRoute({ getParentRoute: () => root, path: '/', component: Home }),
    createRoute({
      getParentRoute: () => root,
      path: '/sessions',
      component: SessionList,
      validateSearch: readListSearch,
    }),
    createRoute({
      getParentRoute: () => root,
      path: '/sessions/$id',
      component: () => <ToView view={firstView.id} />,
    }),
    createRoute({
      getParentRoute: () => root,
      path: '/sessions/$id/$view',
      component: () => <SessionPage views={sessionViews} />,
      validateSearch: readViewSearch,
    }),
    createRoute({ getParentRoute: () => root, path: '/inbox', component: Inbox, validateSearch: readInboxSearch }),
    createRoute({ getParentRoute: () => root, path: '/$page', component: () => <PageOf pages={pageViews} /> }),
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
