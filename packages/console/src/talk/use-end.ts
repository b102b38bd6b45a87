import type { RefObject } from 'react'
import { useEffect, useLayoutEffect, useRef, useState } from 'react'

/** Pixels from the end that still count as the end. */
const near = 40

/** The end of what scrolls. */
export interface End {
  /** Whether the reader is further up. */
  readonly isAway: boolean
  /** Whether the end is kept in view at present. */
  isKept(): boolean
  /** Something came below since the reader went up. */
  readonly isUnseen: boolean
  /** Goes to the end, and stays there. */
  follow(): void
}

/**
 * Keeps the end of an element in view while the reader is there.
 *
 * @param content names what the element shows: a change of it is new. Undefined before there is any.
 * @param startsAway whether the view begins elsewhere than at the end.
 */
export function useEnd(box: RefObject<HTMLElement | null>, content: string | undefined, startsAway: boolean): End {
  const isThere = useRef(!startsAway)
  const isFirst = useRef(true)
  const [isAway, setAway] = useState(false)
  const [isUnseen, setUnseen] = useState(false)
  const come = (): void => {
    const element = box.current
    if (element && element.scrollHeight - element.scrollTop - element.clientHeight > 1)
      element.scrollTo({ top: element.scrollHeight, behavior: 'instant' })
  }
  useEffect(() => {
    const element = box.current
    if (!element) return undefined
    let before = element.scrollTop
    const scrolled = (): void => {
      const { scrollTop, scrollHeight, clientHeight } = element
      // Only a reader who goes up leaves the end: heights that change below it do not, and neither does what stands for the content.
      if (scrollHeight - scrollTop - clientHeight < near) isThere.current = true
      else if (scrollTop < before - 1 && !isFirst.current) isThere.current = false
      before = scrollTop
      setAway(!isThere.current)
      if (isThere.current) setUnseen(false)
    }
    // Both what is inside and the box itself: the composer grows with its text.
    const observer = new ResizeObserver(() => {
      if (isThere.current) come()
    })
    observer.observe(element)
    for (const child of element.children) observer.observe(child)
    // Before the list draws what comes into view: whether it moves the view depends on it.
    element.addEventListener('scroll', scrolled, { capture: true, passive: true })
    return () => {
      observer.disconnect()
      element.removeEventListener('scroll', scrolled, { capture: true })
    }
  }, [box])
  useLayoutEffect(() => {
    if (content === undefined) return
    const isNew = !isFirst.current
    isFirst.current = false
    if (isThere.current) return come()
    const { scrollHeight = 0, scrollTop = 0, clientHeight = 0 } = box.current ?? {}
    const isBelow = scrollHeight - scrollTop - clientHeight >= near
    setAway(isBelow)
    if (isNew) setUnseen(isBelow)
  }, [content])
  // What a render adds is in view at once.
  useLayoutEffect(() => {
    if (!isFirst.current && isThere.current) come()
  })
  return {
    isAway,
    isUnseen,
    isKept: () => isThere.current,
    follow() {
      isThere.current = true
      setAway(false)
      setUnseen(false)
      come()
    },
  }
}
