import type { ReactNode } from 'react'

import type { IconName } from '../look/icon.tsx'
import { Icon } from '../look/icon.tsx'

const icons: Readonly<Record<string, IconName>> = {
  idle: 'check',
  running: 'retry',
  suspended: 'pause',
  failed: 'alert',
  closed: 'end',
  quarantined: 'alert',
}

/** The status of a session: an icon and the word. */
export function StatusMark({ status }: { readonly status: string }): ReactNode {
  return (
    <span className={`status ${status}`}>
      <Icon name={icons[status] ?? 'ring'} /> {status === 'suspended' ? 'waits' : status}
    </span>
  )
}
