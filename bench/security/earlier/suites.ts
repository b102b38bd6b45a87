import type { Suite } from '../replay/suite.ts'
import { code } from './code.ts'
import { contracts } from './contracts.ts'
import { hospital } from './hospital.ts'
import { support } from './support.ts'

/** The suites that were written last for an earlier release. They were measured once, and may have shaped rules since. */
export const earlierSuites: readonly Suite[] = [support, code, hospital, contracts]
