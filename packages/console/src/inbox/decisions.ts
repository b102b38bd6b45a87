import { dismissToast, showToast } from '../frame/toast.tsx'
import { sharedValue, useShared } from '../look/shared-value.ts'
import { problemLine } from '../look/states.tsx'

/** How a wait ended. */
export interface Outcome {
  readonly text: string
  readonly by?: string | undefined
}

/** Decisions of this page, by the key of their wait. */
interface Decided {
  /** Made, and not sent yet. */
  readonly held: Readonly<Record<string, string>>
  readonly outcomes: Readonly<Record<string, Outcome>>
}

const state = sharedValue<Decided>({ held: {}, outcomes: {} })
const timers = new Map<string, ReturnType<typeof setTimeout>>()
/** Milliseconds in which a decision can be taken back. */
const undoMs = 5_000

function change(next: Partial<Decided>): void {
  state.set({ ...state.get(), ...next })
}

export function useDecisions(): Decided {
  return useShared(state)
}

/**
 * Holds a decision for five seconds, in which it can be undone, and sends it then. On the server the first decision counts for
 * good.
 */
export function hold(key: string, text: string, send: () => Promise<void>): void {
  if (key in state.get().held) return
  change({ held: { ...state.get().held, [key]: text } })
  timers.set(
    key,
    setTimeout(() => {
      release(key)
      void deliver(key, text, send)
    }, undoMs),
  )
  showToast({ id: key, text: `${text}.`, action: { name: `Undo (${undoMs / 1_000} s)`, run: () => undo(key) } })
}

/** Sends a decision at once. A refusal is shown. */
export async function deliver(key: string, text: string, send: () => Promise<void>): Promise<void> {
  try {
    await send()
    change({ outcomes: { ...state.get().outcomes, [key]: { text, by: 'you' } } })
  } catch (error) {
    // The row says how it was decided.
    if (isDecided(error)) return
    showToast({ id: `${key} failed`, text: `Not sent: ${problemLine(error)}` })
  }
}

/** Takes a decision back before it is sent. */
export function undo(key: string): void {
  clearTimeout(timers.get(key))
  release(key)
}

function release(key: string): void {
  timers.delete(key)
  dismissToast(key)
  const { [key]: _, ...held } = state.get().held
  change({ held })
}

function isDecided(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'already-decided'
}

// A decision that is not sent would be lost: the browser asks first.
addEventListener('beforeunload', (event) => {
  if (timers.size > 0) event.preventDefault()
})
