import type { ReactNode } from 'react'

import { sharedValue, useShared } from '../look/shared-value.ts'

/** A line at the bottom of the page. */
export interface Toast {
  readonly id: string
  readonly text: string
  readonly action?: { readonly name: string; run(): void }
}

const toasts = sharedValue<readonly Toast[]>([])
/** Milliseconds for which a line without an action is shown. */
const shownMs = 5_000

/** Shows a line until it is dismissed; without an action, for five seconds. It replaces one with the same id. */
export function showToast(toast: Toast): void {
  toasts.set([...toasts.get().filter(({ id }) => id !== toast.id), toast])
  if (!toast.action) setTimeout(() => toasts.set(toasts.get().filter((one) => one !== toast)), shownMs)
}

export function dismissToast(id: string): void {
  toasts.set(toasts.get().filter((one) => one.id !== id))
}

/** The lines that are shown, for all readers. */
export function Toasts(): ReactNode {
  const shown = useShared(toasts)
  return (
    <div className="toasts" role="status" aria-live="polite">
      {shown.map(({ id, text, action }) => (
        <div key={id} className="toast">
          <span>{text}</span>
          {action && (
            <button type="button" onClick={action.run}>
              {action.name}
            </button>
          )}
        </div>
      ))}
    </div>
  )
}
