import { displayText } from '@provost/core'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useState } from 'react'

import type { EntryPlace } from './entry-query.ts'

/** Some characters of a text in an entry, in UTF-16 code units. */
export interface TextPlace extends EntryPlace {
  readonly pointer: string
  readonly start: number
  readonly end: number
}

/** The texts that are shown, by their elements. */
const shownTexts = new WeakMap<Element, { readonly text: string; readonly place: Omit<TextPlace, 'start' | 'end'> }>()

/** Returns attributes of the element that shows a text of an entry from its begin, so that a selection in it has a place in the log. */
export function placed(
  text: string,
  place: Omit<TextPlace, 'start' | 'end'>,
): { readonly 'data-placed': ''; readonly ref: (element: HTMLElement | null) => void } {
  return {
    'data-placed': '',
    ref(element) {
      if (element) shownTexts.set(element, { text, place })
    },
  }
}

/** Returns the characters of the log that are selected in the page; undefined if none are. */
export function selectedPlace(selection: Selection | null): TextPlace | undefined {
  if (!selection || selection.isCollapsed || selection.rangeCount === 0) return undefined
  const range = selection.getRangeAt(0)
  const element = elementOf(range.startContainer)?.closest('[data-placed]')
  const shown = element && shownTexts.get(element)
  if (!shown || elementOf(range.endContainer)?.closest('[data-placed]') !== element) return undefined
  const before = document.createRange()
  before.setStart(element, 0)
  before.setEnd(range.startContainer, range.startOffset)
  const from = before.toString().length
  const { text, place } = shown
  return { ...place, start: placeIn(text, from), end: placeIn(text, from + range.toString().length) }
}

/** Returns the place in a text of a place in what is shown of it: invisible characters are longer where they are shown. */
function placeIn(text: string, at: number): number {
  const shown = (length: number): number => displayText(text.slice(0, length), { lines: true, limit: Infinity }).length
  if (shown(text.length) === text.length) return Math.min(at, text.length)
  let [low, high] = [0, text.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (shown(middle) < at) low = middle + 1
    else high = middle
  }
  return low
}

function elementOf(node: Node): Element | null {
  return node instanceof Element ? node : node.parentElement
}

/** The selected characters, as they change. */
export function useSelectedPlace(): TextPlace | undefined {
  const [place, setPlace] = useState<TextPlace>()
  useEffect(() => {
    const look = (): void => setPlace(selectedPlace(document.getSelection()))
    document.addEventListener('selectionchange', look)
    return () => document.removeEventListener('selectionchange', look)
  }, [])
  return place
}

/** Returns a function that goes to the provenance of some characters. */
export function useTrace(): (place: TextPlace) => void {
  const navigate = useNavigate()
  return ({ sessionId, log, offset, pointer, start, end }) =>
    void navigate({
      to: '/sessions/$id/$view',
      params: { id: sessionId, view: 'flow' },
      search: { log, entry: offset, pointer, from: start, to: end },
    })
}
