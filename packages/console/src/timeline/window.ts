import type { RefObject } from 'react'
import { useCallback, useEffect, useRef, useState } from 'react'

/** The part of the axis that is shown, from 0 to 1. */
export type AxisWindow = readonly [left: number, right: number]

export const wholeAxis: AxisWindow = [0, 1]
const narrowest = 1e-6

/** Returns a window that is zoomed around a place. A factor over 1 shows less. */
export function zoomed([left, right]: AxisWindow, factor: number, around: number): AxisWindow {
  const width = Math.min(1, Math.max(narrowest, (right - left) / factor))
  const share = right === left ? 0.5 : (around - left) / (right - left)
  return moved([around - share * width, around + (1 - share) * width], 0)
}

/** Returns a window that is moved by a share of its width, within the axis. */
export function moved([left, right]: AxisWindow, by: number): AxisWindow {
  const width = Math.min(1, right - left)
  const start = Math.min(1 - width, Math.max(0, left + by * width))
  return [start, start + width]
}

/** Where a place of the axis is in a window, in percent of its width. */
export function percent([left, right]: AxisWindow, place: number): number {
  return ((place - left) / (right - left)) * 100
}

/** The window of a timeline. Wheels and drags change it at most once a frame. */
export function useAxisWindow(box: RefObject<HTMLElement | null>): {
  readonly shown: AxisWindow
  /** Changes the window with the next frame. */
  change(next: (before: AxisWindow) => AxisWindow): void
} {
  const [shown, setShown] = useState<AxisWindow>(wholeAxis)
  const latest = useRef<AxisWindow>(wholeAxis)
  const frame = useRef(0)
  const change = useCallback((next: (before: AxisWindow) => AxisWindow) => {
    latest.current = next(latest.current)
    frame.current ||= requestAnimationFrame(() => {
      frame.current = 0
      setShown(latest.current)
    })
  }, [])
  useEffect(() => {
    const element = box.current
    if (!element) return undefined
    const wheel = (event: WheelEvent): void => {
      const bars = element.querySelector('[data-bars]')?.getBoundingClientRect()
      if (!bars) return
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault()
        const share = Math.min(1, Math.max(0, (event.clientX - bars.left) / bars.width))
        change((before) => zoomed(before, Math.exp(-event.deltaY / 300), before[0] + share * (before[1] - before[0])))
      } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        event.preventDefault()
        change((before) => moved(before, (event.deltaX || event.deltaY) / bars.width))
      }
    }
    // React listens passively, and a zoom of the page itself must be prevented.
    element.addEventListener('wheel', wheel, { passive: false })
    return () => element.removeEventListener('wheel', wheel)
  }, [box, change])
  return { shown, change }
}
