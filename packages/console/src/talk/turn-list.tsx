import { useVirtualizer } from '@tanstack/react-virtual'
import type { ReactNode, RefObject } from 'react'
import { useEffect, useLayoutEffect, useRef } from 'react'

import type { Turn } from '../conversation/conversation.ts'
import { useKeys } from '../keys/key-map.ts'
import { TurnView, authorOf } from './turn-view.tsx'

/** Pixels of a message until it is drawn. */
const estimate = 110
const gap = 14
/** Messages that are drawn beyond each edge of the view. */
const overscan = 6

/** Draws the messages near the view. What is selected or has the focus stays in the page wherever it is. */
export function TurnList({
  turns,
  sessionId,
  isRunning,
  box,
  unfolded,
  target,
  isAtEnd,
}: {
  readonly turns: readonly Turn[]
  readonly sessionId: string
  readonly isRunning: boolean
  /** The element that scrolls. */
  readonly box: RefObject<HTMLElement | null>
  readonly unfolded: Set<string>
  /** Index of the message that the address names. */
  readonly target: number | undefined
  /** Whether the view keeps its end: then nothing else moves it. */
  readonly isAtEnd: () => boolean
}): ReactNode {
  const list = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer({
    count: turns.length,
    estimateSize: () => estimate,
    getScrollElement: () => box.current,
    // It may have been scrolled before there was a message.
    initialOffset: () => box.current?.scrollTop ?? 0,
    getItemKey: (index) => turns[index]?.id ?? index,
    gap,
    overscan,
    rangeExtractor: ({ startIndex, endIndex, count }) => {
      const shown = new Set(heldIn(list.current))
      for (let n = Math.max(0, startIndex - overscan); n <= Math.min(count - 1, endIndex + overscan); n++) shown.add(n)
      return [...shown].filter((n) => n < count).toSorted((a, b) => a - b)
    },
  })
  // A message above the view that turns out to have another height moves the view with it. One that grows in view does not.
  virtual.shouldAdjustScrollPositionOnItemSizeChange = ({ key, start, end: bottom }, _, instance) => {
    if (isAtEnd()) return false
    const top = instance.scrollOffset ?? 0
    const isKnown = instance.itemSizeCache.has(key)
    return isKnown ? bottom <= top && instance.scrollDirection !== 'backward' : start < top
  }
  const current = useRef<string>(undefined)
  /** The message that takes the focus once it is drawn. */
  const wanted = useRef<number>(undefined)
  const takeFocus = (): void => {
    const element = list.current?.querySelector<HTMLElement>(`[data-index="${wanted.current}"]`)
    if (!element) return
    wanted.current = undefined
    element.focus({ preventScroll: true })
  }
  useLayoutEffect(() => {
    if (wanted.current !== undefined) takeFocus()
  })
  const go = (to: number, align: 'auto' | 'start'): void => {
    const next = Math.min(turns.length - 1, Math.max(0, to))
    wanted.current = next
    current.current = turns[next]?.id
    virtual.scrollToIndex(next, { align })
    takeFocus()
  }
  const move = (by: 1 | -1): void => {
    const at = turns.findIndex(({ id }) => id === current.current)
    go(at < 0 ? firstShown(box.current) : at + by, 'auto')
  }
  const named = target === undefined ? undefined : turns[target]?.id
  useEffect(() => {
    // The address names a message once: what is written since does not move the reader.
    if (target !== undefined) go(target, 'start')
  }, [named])
  useKeys('Messages', [
    { key: 'j', does: 'next message', run: () => move(1) },
    { key: 'k', does: 'previous message', run: () => move(-1) },
    { key: 'Home', does: 'first message', run: () => go(0, 'start') },
  ])
  const items = virtual.getVirtualItems()
  let end = 0
  return (
    <div
      ref={list}
      role="feed"
      aria-label="Messages"
      aria-busy={isRunning}
      className="turns"
      style={{ paddingBottom: Math.max(0, virtual.getTotalSize() - (items.at(-1)?.end ?? 0)) }}
    >
      {items.map((item) => {
        const turn = turns[item.index]
        const above = item.start - end
        end = item.end
        return (
          turn && (
            <article
              key={item.key}
              ref={virtual.measureElement}
              data-index={item.index}
              className={`turn ${roleOf(turn)}`}
              tabIndex={-1}
              aria-label={authorOf(turn)}
              aria-posinset={item.index + 1}
              aria-setsize={turns.length}
              aria-busy={turn.isOpen ?? false}
              aria-current={item.index === target ? 'true' : undefined}
              // In the flow, so that a message that grows moves what is below it in the same frame.
              style={{ marginTop: above }}
              onFocus={() => {
                current.current = turn.id
              }}
            >
              <TurnView turn={turn} sessionId={sessionId} unfolded={unfolded} />
            </article>
          )
        )
      })}
    </div>
  )
}

function roleOf({ role }: Turn): string {
  return role.startsWith('custom:') ? 'custom' : role
}

/** Returns the indexes of the messages that hold the focus or the ends of the selection. */
function heldIn(list: HTMLElement | null): readonly number[] {
  if (!list) return []
  const selection = document.getSelection()
  const nodes = [document.activeElement, selection?.isCollapsed === false && selection.anchorNode, selection?.focusNode]
  return nodes.flatMap((node) => {
    if (!(node instanceof Node) || node === list || !list.contains(node)) return []
    const element = node instanceof HTMLElement ? node : node.parentElement
    const index = Number(element?.closest<HTMLElement>('[data-index]')?.dataset['index'])
    return Number.isSafeInteger(index) ? [index] : []
  })
}

/** Returns the index of the first message in view. */
function firstShown(box: HTMLElement | null): number {
  const top = box?.getBoundingClientRect().top ?? 0
  const shown = [...(box?.querySelectorAll<HTMLElement>('[data-index]') ?? [])]
  const first = shown.find((element) => element.getBoundingClientRect().bottom > top + gap)
  return Number(first?.dataset['index'] ?? 0)
}
