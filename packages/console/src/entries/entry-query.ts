import type { CutText, EntriesAnswer } from '@provost/server/console'
import { queryOptions, useQuery } from '@tanstack/react-query'
import type { UseQueryResult } from '@tanstack/react-query'

import { consoleApi } from '../wire/console-api.ts'

/** An entry with its body. */
export type WholeEntry = EntriesAnswer['entries'][number]

/** Where an entry is. */
export interface EntryPlace {
  readonly sessionId: string
  readonly log: string
  readonly offset: number
}

/** An entry, and the texts of it that are not complete. */
export interface ReadEntry {
  readonly entry: WholeEntry
  readonly cut: readonly CutText[]
}

/** Entries that are read together: what a reader opens next is near. */
const pageSize = 20

/** A page of bodies. Entries never change, so it is read once; an unfinished page is read again when it is short. */
const pageQuery = ({ sessionId, log, offset }: EntryPlace) => {
  const from = offset - ((offset - 1) % pageSize)
  return queryOptions({
    queryKey: ['entries', sessionId, log, from] as const,
    queryFn: ({ signal }) => consoleApi.entries(sessionId, { log, from, to: from + pageSize - 1 }, signal),
    // A page at the end of a log grows.
    staleTime: ({ state }) => (state.data?.entries.length === pageSize ? Number.POSITIVE_INFINITY : 0),
  })
}

/** The body of one entry; null if the log has none there. */
export function useEntry(place: EntryPlace): UseQueryResult<ReadEntry | null> {
  return useQuery({
    ...pageQuery(place),
    select: ({ entries, cut }): ReadEntry | null => {
      const entry = entries.find(({ offset }) => offset === place.offset)
      return entry ? { entry, cut: cut.filter(({ offset }) => offset === place.offset) } : null
    },
  })
}
