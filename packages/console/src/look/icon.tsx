import type { ReactNode } from 'react'

/** Paths in a square of 16. Fonts of some systems have no glyph for such symbols. */
const paths = {
  alert: 'M8 2.2 14.6 13.6H1.4Z M8 6.4v3.4 M8 11.6v.3',
  ring: 'M8 3.4a4.6 4.6 0 1 0 0 9.2 4.6 4.6 0 0 0 0-9.2Z',
  check: 'M3 8.6l3.2 3.2L13 4.6',
  cross: 'M4 4l8 8 M12 4l-8 8',
  pause: 'M5.6 3.4v9.2 M10.4 3.4v9.2',
  lock: 'M4 7.4h8v6H4Z M5.8 7.4V5.2a2.2 2.2 0 0 1 4.4 0v2.2',
  flag: 'M4 14V2.6 M4 3h7.6l-1.8 2.6 1.8 2.6H4',
  step: 'M8 2.4 13.6 8 8 13.6 2.4 8Z',
  tool: 'M9.8 2.6a3.4 3.4 0 0 0-3 4.8l-4.2 4.2 1.8 1.8 4.2-4.2a3.4 3.4 0 0 0 4.6-4.2l-2 2-1.8-.4-.4-1.8 2-2Z',
  child: 'M4 2.6v6.6h7.4 M8.8 6.4l2.8 2.8-2.8 2.8',
  handoff: 'M2.4 8h10.4 M9.4 4.6 12.8 8l-3.4 3.4',
  message: 'M2.4 3.4h11.2v7.4H7.4L4.4 13.4v-2.6h-2Z',
  end: 'M4 3h8v10H4Z',
  file: 'M4 2.4h5l3 3v8.2H4Z M9 2.4v3h3',
  fold: 'M3 5.6h10 M5 8h6 M7 10.4h2',
  right: 'M6 3.6 10.4 8 6 12.4',
  left: 'M10 3.6 5.6 8 10 12.4',
  down: 'M3.6 6 8 10.4 12.4 6',
  retry: 'M12.6 8a4.6 4.6 0 1 1-1.5-3.4 M12.8 2.4v2.8H10',
  user: 'M8 2.6a2.6 2.6 0 1 0 0 5.2 2.6 2.6 0 0 0 0-5.2Z M3 13.4c.5-2.6 2.5-3.8 5-3.8s4.5 1.2 5 3.8',
  sun: 'M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6Z M8 1.6v1.4 M8 13v1.4 M1.6 8H3 M13 8h1.4 M3.5 3.5l1 1 M11.5 11.5l1 1 M12.5 3.5l-1 1 M4.5 11.5l-1 1',
  moon: 'M12.8 9.8A5.4 5.4 0 0 1 6.2 3.2a5.4 5.4 0 1 0 6.6 6.6Z',
} as const

export type IconName = keyof typeof paths

/** An icon beside words that say the same. With a title it stands alone. */
export function Icon({ name, title }: { readonly name: IconName; readonly title?: string }): ReactNode {
  const naming = title === undefined ? { 'aria-hidden': true } : { role: 'img', 'aria-label': title }
  return (
    <svg className={`icon icon-${name}`} viewBox="0 0 16 16" {...naming}>
      {title !== undefined && <title>{title}</title>}
      <path d={paths[name]} />
    </svg>
  )
}
