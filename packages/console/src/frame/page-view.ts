import type { ComponentType } from 'react'

/** A page of its own, at `/ID`. */
export interface PageView {
  readonly id: string
  readonly name: string
  /** The key after `g` that goes to it. */
  readonly key: string
  /** The head of the page does not link to it; the keys do. */
  readonly isUnlisted?: boolean
  /** Renders a `<main id="main">`. A page that few readers open is `lazy`. */
  readonly component: ComponentType
}
