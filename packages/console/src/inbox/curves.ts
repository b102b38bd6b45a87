import type { RefObject } from 'react'
import { useLayoutEffect, useState } from 'react'

import type { Case } from './evidence.ts'

/** A curve from marked words to the argument that they became. */
export interface Curve {
  readonly d: string
  readonly end: readonly [x: number, y: number]
  readonly isBad: boolean
}

/** Measures the curves after each layout of the box, in its own coordinates. */
export function useCurves(box: RefObject<HTMLDivElement | null>, drawn: Case): readonly Curve[] {
  const [curves, setCurves] = useState<readonly Curve[]>([])
  useLayoutEffect(() => {
    const element = box.current
    if (!element) return
    const draw = (): void => {
      const now = measured(element)
      setCurves((before) => (isSame(before, now) ? before : now))
    }
    const sizes = new ResizeObserver(draw)
    for (const one of element.children) if (!one.matches('svg')) sizes.observe(one)
    // A source that scrolls moves its words.
    element.addEventListener('scroll', draw, true)
    const texts = new MutationObserver(draw)
    texts.observe(element, { subtree: true, childList: true, characterData: true })
    draw()
    return () => {
      sizes.disconnect()
      texts.disconnect()
      element.removeEventListener('scroll', draw, true)
    }
  }, [drawn])
  return curves
}

function isSame(a: readonly Curve[], b: readonly Curve[]): boolean {
  return a.length === b.length && a.every(({ d }, at) => d === b[at]?.d)
}

function measured(box: HTMLElement): readonly Curve[] {
  // On a narrow page the parts are below each other: marks and words say the same.
  if (getComputedStyle(box).display !== 'grid') return []
  const origin = box.getBoundingClientRect()
  const curves: Curve[] = []
  for (const source of box.querySelectorAll('.source')) {
    const card = source.getBoundingClientRect()
    for (const spot of source.querySelectorAll<HTMLElement>('[data-spot]')) {
      const sink = [...box.querySelectorAll<HTMLElement>('[data-sink]')].find(
        (one) => one.dataset['sink'] === spot.dataset['spot'],
      )
      if (!sink) continue
      const [from, to] = [spot.getBoundingClientRect(), sink.getBoundingClientRect()]
      const y1 = Math.min(card.bottom - 8, Math.max(card.top + 12, from.top + from.height / 2)) - origin.top
      const [x1, x2, y2] = [card.right - origin.left, to.left - origin.left, to.top + to.height / 2 - origin.top]
      const bend = Math.max(40, (x2 - x1) * 0.5)
      const d = `M${x1},${y1} C${x1 + bend},${y1} ${x2 - bend},${y2} ${x2 - 5},${y2}`
      curves.push({ d, end: [x2 - 5, y2], isBad: sink.classList.contains('bad') })
    }
  }
  return curves
}
