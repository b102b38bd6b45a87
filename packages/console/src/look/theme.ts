import { useSyncExternalStore } from 'react'

const key = 'provost.theme'
const dark = matchMedia('(prefers-color-scheme: dark)')
const listeners = new Set<() => void>()
dark.addEventListener('change', tell)

export type Theme = 'light' | 'dark'

function tell(): void {
  apply()
  for (const listener of listeners) listener()
}

function current(): Theme {
  const chosen = localStorage.getItem(key)
  if (chosen === 'light' || chosen === 'dark') return chosen
  return dark.matches ? 'dark' : 'light'
}

function apply(): void {
  document.documentElement.style.colorScheme = current()
}

/** Applies the chosen theme, else that of the system. */
export function startTheme(): void {
  apply()
}

/** The theme, and a function that changes to the other one and remembers it. */
export function useTheme(): [Theme, () => void] {
  const theme = useSyncExternalStore((listener) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, current)
  return [
    theme,
    () => {
      localStorage.setItem(key, theme === 'dark' ? 'light' : 'dark')
      tell()
    },
  ]
}
