import { useNavigate } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useEffect, useState } from 'react'

import type { Turn } from '../conversation/conversation.ts'
import { selectedIn, wordsOf } from '../conversation/selected-words.ts'
import { useKeys } from '../keys/key-map.ts'

/** Appears while words of a message are selected: where they come from, and where they went. */
export function TraceSelection({
  turns,
  sessionId,
}: {
  readonly turns: readonly Turn[]
  readonly sessionId: string
}): ReactNode {
  const navigate = useNavigate()
  const [isSelected, setSelected] = useState(false)
  useEffect(() => {
    const look = (): void => setSelected(selectedIn(document.getSelection()) !== undefined)
    document.addEventListener('selectionchange', look)
    return () => document.removeEventListener('selectionchange', look)
  }, [])
  const trace = (): void => {
    const selected = selectedIn(document.getSelection())
    const words = selected && wordsOf(turns, selected)
    if (!words) return
    void navigate({ to: '/sessions/$id/$view', params: { id: sessionId, view: 'flow' }, search: { ...words } })
  }
  useKeys('Selection', [{ key: 'p', does: 'trace the selected words', run: trace }])
  if (!isSelected) return null
  return (
    <button type="button" onClick={trace}>
      Trace selection <kbd>p</kbd>
    </button>
  )
}
