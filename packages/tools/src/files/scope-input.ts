import { z } from 'zod'

/** The argument that takes in hidden files. */
export const hiddenInput: z.ZodDefault<z.ZodBoolean> = z.boolean().default(false).describe('Also hidden files.')

/** The argument that sets ignore files aside. */
export const ignoredInput: z.ZodDefault<z.ZodBoolean> = z
  .boolean()
  .default(false)
  .describe('Also what .gitignore leaves out, and node_modules.')
