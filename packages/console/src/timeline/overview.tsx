import type { PointerEvent, ReactNode } from 'react'
import { useEffect, useRef } from 'react'

import { hueOf } from '../entries/entry-words.ts'
import { duration } from '../look/measures.ts'
import { useTheme } from '../look/theme.ts'
import type { Axis } from './axis.ts'
import { marksOf } from './axis.ts'
import type { TimelineLayout, TimelineRow } from './layout.ts'
import type { AxisWindow } from './window.ts'
import { moved, percent, wholeAxis } from './window.ts'

const height = 36

/** The whole session in a strip, and the window in it. A drag shows a part. */
export function Overview({
  layout,
  axis,
  shown,
  change,
}: {
  readonly layout: TimelineLayout
  readonly axis: Axis
  readonly shown: AxisWindow
  change(next: (before: AxisWindow) => AxisWindow): void
}): ReactNode {
  const canvas = useRef<HTMLCanvasElement>(null)
  const from = useRef<number>(undefined)
  const [theme] = useTheme()
  useEffect(() => {
    const element = canvas.current
    if (!element) return undefined
    const draw = (): void => paint(element, layout, axis, theme === 'dark')
    draw()
    const observer = new ResizeObserver(draw)
    observer.observe(element)
    return () => observer.disconnect()
  }, [layout, axis, theme])
  const placeOf = (event: PointerEvent<HTMLElement>): number => {
    const { left, width } = event.currentTarget.getBoundingClientRect()
    return Math.min(1, Math.max(0, (event.clientX - left) / width))
  }
  return (
    <div
      className="tl-overview"
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId)
        from.current = placeOf(event)
      }}
      onPointerMove={(event) => {
        const start = from.current
        if (start === undefined) return
        const at = placeOf(event)
        if (Math.abs(at - start) > 0.004) change(() => [Math.min(start, at), Math.max(start, at)])
      }}
      onPointerUp={(event) => {
        const start = from.current
        from.current = undefined
        const at = placeOf(event)
        if (start !== undefined && Math.abs(at - start) <= 0.004)
          change((before) => moved(before, (at - (before[0] + before[1]) / 2) / (before[1] - before[0])))
      }}
      onDoubleClick={() => change(() => wholeAxis)}
    >
      <canvas ref={canvas} aria-hidden />
      <span
        className="tl-window"
        style={{ left: `${shown[0] * 100}%`, width: `${(shown[1] - shown[0]) * 100}%` }}
        aria-hidden
      />
    </div>
  )
}

function paint(element: HTMLCanvasElement, layout: TimelineLayout, axis: Axis, isDark: boolean): void {
  const { clientWidth: width } = element
  const scale = devicePixelRatio
  element.width = Math.max(1, width * scale)
  element.height = height * scale
  const context = element.getContext('2d')
  if (!context) return
  context.scale(scale, scale)
  const lanes = new Map(layout.agents.map((agent, n) => [agent, n]))
  const lane = Math.max(2, Math.min(14, (height - 4) / Math.max(1, lanes.size)))
  const stack = [...layout.rows]
  for (let row: TimelineRow | undefined = stack.pop(); row; row = stack.pop()) {
    for (const below of row.rows) stack.push(below)
    if (row.kind !== 'step' && row.kind !== 'call' && row.kind !== 'wait') continue
    const x = axis.place(row.from) * width
    const end = axis.place(row.to ?? layout.to) * width
    const y = 2 + (((lanes.get(row.agent) ?? 0) * lane) % (height - 4))
    const lightness = isDark ? (row.kind === 'step' ? 62 : 44) : row.kind === 'step' ? 46 : 66
    context.fillStyle =
      row.kind === 'wait' ? (isDark ? '#6b5fa8' : '#c9bdf2') : `hsl(${hueOf(row.agent)} 55% ${lightness}%)`
    context.fillRect(x, y, Math.max(1, end - x), Math.max(1, lane - 1))
  }
}

/** The times above the bars. */
export function AxisHead({
  axis,
  shown,
  width,
}: {
  readonly axis: Axis
  readonly shown: AxisWindow
  readonly width: number
}): ReactNode {
  const marks = marksOf(axis, shown, Math.max(2, Math.floor(width / 90)))
  let last = -Infinity
  return (
    <div className="tl-axis" aria-hidden>
      {marks.map(({ place, ms, isGap }) => {
        const left = percent(shown, place)
        // Names that would touch are left out, those of gaps never.
        const fits = isGap || ((left - last) / 100) * width > 56
        if (!fits || left < 0 || left > 98) return null
        last = left
        return (
          <span key={`${place} ${ms}`} className={isGap ? 'gap' : ''} style={{ left: `${left}%` }}>
            {isGap ? `‖ ${duration(ms)}` : ms === 0 ? '0' : duration(ms)}
          </span>
        )
      })}
    </div>
  )
}
