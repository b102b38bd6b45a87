import type { CSSProperties } from 'react'

import { hueOf } from './entry-words.ts'

/** Returns a style that carries the colour of an agent to its style rules. */
export function hueStyle(agent: string, style: CSSProperties = {}): CSSProperties {
  const hue: Readonly<Record<string, number>> = { '--hue': hueOf(agent) }
  return { ...hue, ...style }
}
