import type { ReactNode } from 'react'
import { useSyncExternalStore } from 'react'

/** A line at the bottom of the page. */
export interface Toast {
  readonly id: string
  readonly text: string
  readonly action?: { readonly name: string; run(): void }
}

let toasts: readonly Toast[] = []
const listeners = new Set<() => void>()
/** Milliseconds for which a line without an action is shown. */
const shownMs = 5_000

function change(next: readonly Toast[]): void {
  toasts = next
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Shows a line until it is dismissed; without an action, for five seconds. It replaces one with the same id. */
export function showToast(toast: Toast): void {
  change([...toasts.filter(({ id }) => id !== toast.id), toast])
  if (!toast.action) setTimeout(() => change(toasts.filter((one) => one !== toast)), shownMs)
}

export function dismissToast(id: string): void {
  change(toasts.filter((one) => one.id !== id))
}

/** The lines that are shown, for all readers. */
export function Toasts(): ReactNode {
  const shown = useSyncExternalStore(subscribe, () => toasts)
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
