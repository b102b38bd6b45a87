import type { ReactNode } from 'react'
import { useState } from 'react'

/** A part that unfolds. Its content is in the page only while it is unfolded. */
export function Fold({
  id,
  className,
  unfolded,
  summary,
  children,
}: {
  readonly id: string
  readonly className: string
  /** Ids of the parts that are unfolded: they stay so while they are not in the page. */
  readonly unfolded: Set<string>
  readonly summary: ReactNode
  readonly children: ReactNode
}): ReactNode {
  const [isOpen, setOpen] = useState(() => unfolded.has(id))
  return (
    <details
      className={className}
      open={isOpen}
      onToggle={({ currentTarget: { open } }) => {
        if (open) unfolded.add(id)
        else unfolded.delete(id)
        setOpen(open)
      }}
    >
      <summary>{summary}</summary>
      {isOpen && children}
    </details>
  )
}
