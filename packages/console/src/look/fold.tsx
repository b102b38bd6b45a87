import type { ReactNode } from 'react'
import { useState } from 'react'

/** A part that unfolds. Its content is in the page only while it is unfolded. */
export function Fold({
  className,
  kept,
  summary,
  children,
}: {
  readonly className?: string
  /** The id of this part, and those of the unfolded ones: they stay so while they are not in the page. */
  readonly kept?: { readonly id: string; readonly unfolded: Set<string> }
  readonly summary: ReactNode
  readonly children: ReactNode
}): ReactNode {
  const [isOpen, setOpen] = useState(kept?.unfolded.has(kept.id) ?? false)
  return (
    <details
      className={className}
      open={isOpen}
      onToggle={({ currentTarget: { open } }) => {
        if (open) kept?.unfolded.add(kept.id)
        else kept?.unfolded.delete(kept.id)
        setOpen(open)
      }}
    >
      <summary>{summary}</summary>
      {isOpen && children}
    </details>
  )
}
