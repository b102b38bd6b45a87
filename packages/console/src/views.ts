import { lazy } from 'react'

import type { PageView } from './frame/page-view.ts'
import type { SessionView } from './sessions/session-view.ts'
import { Talk } from './talk/talk.tsx'

/** The views of one session, as its tabs: the first one opens by default. */
export const sessionViews: readonly [SessionView, ...SessionView[]] = [
  { id: 'talk', name: 'Talk', key: 't', component: Talk },
  {
    ...{ id: 'timeline', name: 'Timeline', key: 'l' },
    component: lazy(async () => ({ default: (await import('./timeline/timeline.tsx')).Timeline })),
  },
]

/** Pages beside the sessions and the inbox. */
export const pageViews: readonly PageView[] = [
  {
    ...{ id: 'tour', name: 'Tour', key: 'o', isUnlisted: true },
    component: lazy(async () => ({ default: (await import('./tour/tour.tsx')).Tour })),
  },
]
