import type { Json } from 'provost'

/** A task as a script that was written before anything is read. */
export interface Plan {
  readonly source: string
  /** What further tools answer: data of our own that the recorded task does not read, such as an address book. */
  readonly beside?: Readonly<Record<string, Json>>
}

/** Plans by suite and task. A string is a plan that reads what the task reads. */
export type Plans = Readonly<Record<string, Readonly<Record<string, string | Plan>>>>
