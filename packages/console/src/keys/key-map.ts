import { useEffect, useRef, useSyncExternalStore } from 'react'

/** A key with what it does, in words. */
export interface KeyBinding {
  /** `KeyboardEvent.key`, or two of them: `g a`. */
  readonly key: string
  readonly does: string
  /** Other keys that do the same. */
  readonly also?: readonly string[]
  run(): void
}

/** The bindings of one part of the page. */
export interface KeyGroup {
  readonly title: string
  readonly bindings: readonly KeyBinding[]
}

interface Registered {
  current: KeyGroup
}

let groups: readonly Registered[] = []
const listeners = new Set<() => void>()
const offKey = 'provost.keys'
let isOff = localStorage.getItem(offKey) === 'off'
/** The first key of a pair. */
let first: { readonly key: string; readonly at: number } | undefined
const pairMs = 1_500

function change(next: readonly Registered[]): void {
  groups = next
  for (const listener of listeners) listener()
}

/** Binds keys as long as the component is shown. Later groups come first. */
export function useKeys(title: string, bindings: readonly KeyBinding[]): void {
  const group = useRef<KeyGroup>({ title, bindings })
  useEffect(() => {
    group.current = { title, bindings }
  })
  useEffect(() => {
    change([...groups, group])
    return () => change(groups.filter((one) => one !== group))
  }, [])
}

/** All bindings, as the help lists them. */
export function useKeyGroups(): readonly KeyGroup[] {
  const all = useSyncExternalStore(subscribe, () => groups)
  return all.map(({ current }) => current)
}

/** Whether single keys are on, and a function that switches them and remembers it. */
export function useKeySwitch(): [boolean, () => void] {
  const on = useSyncExternalStore(subscribe, () => !isOff)
  return [
    on,
    () => {
      isOff = !isOff
      localStorage.setItem(offKey, isOff ? 'off' : 'on')
      change(groups)
    },
  ]
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Listens for keys of the page. */
export function startKeys(): void {
  addEventListener('keydown', (event) => {
    if (isOff || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target))
      return
    if (document.querySelector('dialog[open]')) return
    const pair = first && event.timeStamp - first.at < pairMs ? `${first.key} ${event.key}` : undefined
    const binding = (pair !== undefined && bindingOf(pair)) || bindingOf(event.key)
    first = undefined
    if (binding) {
      event.preventDefault()
      binding.run()
    } else if (isFirst(event.key)) first = { key: event.key, at: event.timeStamp }
  })
}

function boundKeys(): readonly KeyBinding[] {
  return groups.toReversed().flatMap(({ current }) => current.bindings)
}

function bindingOf(key: string): KeyBinding | undefined {
  return boundKeys().find((binding) => binding.key === key || binding.also?.includes(key))
}

function isFirst(key: string): boolean {
  return boundKeys().some((binding) => binding.key.startsWith(`${key} `))
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || target.matches('input, textarea, select'))
}
