import type { ComponentType } from 'react'

/** A page of its own, at `/ID`. */
export interface PageView {
  readonly id: string
  readonly name: string
  /** The key after `g` that goes to it. */
  readonly key: string
  /** Renders a `<main id="main">`. A page that few readers open is `lazy`. */
  readonly component: ComponentType
}
