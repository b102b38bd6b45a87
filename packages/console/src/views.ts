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
  {
    ...{ id: 'flow', name: 'Provenance', key: 'f' },
    component: lazy(async () => ({ default: (await import('./provenance/flow.tsx')).Flow })),
  },
  {
    ...{ id: 'policy', name: 'Policy', key: 'p' },
    component: lazy(async () => ({ default: (await import('./policy/session-policy.tsx')).SessionPolicy })),
  },
  {
    ...{ id: 'travel', name: 'Time travel', key: 'a' },
    component: lazy(async () => ({ default: (await import('./travel/travel.tsx')).Travel })),
  },
  {
    ...{ id: 'context', name: 'Context', key: 'c' },
    component: lazy(async () => ({ default: (await import('./context/context.tsx')).Context })),
  },
  {
    ...{ id: 'scripts', name: 'Scripts', key: 's' },
    component: lazy(async () => ({ default: (await import('./scripts/scripts.tsx')).Scripts })),
  },
  {
    ...{ id: 'memory', name: 'Memory', key: 'm' },
    component: lazy(async () => ({ default: (await import('./memory/memories.tsx')).Memories })),
  },
  {
    ...{ id: 'log', name: 'Log', key: 'r' },
    component: lazy(async () => ({ default: (await import('./raw/raw-log.tsx')).RawLog })),
  },
]

/** Pages beside the sessions and the inbox. */
export const pageViews: readonly PageView[] = [
  {
    ...{ id: 'tour', name: 'Tour', key: 'o', isUnlisted: true },
    component: lazy(async () => ({ default: (await import('./tour/tour.tsx')).Tour })),
  },
  {
    ...{ id: 'policy', name: 'Policy', key: 'p' },
    component: lazy(async () => ({ default: (await import('./policy/policy-page.tsx')).PolicyPage })),
  },
  {
    ...{ id: 'cost', name: 'Cost', key: 'c' },
    component: lazy(async () => ({ default: (await import('./system/cost-page.tsx')).CostPage })),
  },
  {
    ...{ id: 'system', name: 'System', key: 'y' },
    component: lazy(async () => ({ default: (await import('./system/system-page.tsx')).SystemPage })),
  },
]
