; Potluck.exe: starts the app; fetches Python first, where there is none yet. Arguments are passed on to the app.
; Silent (/S as the first argument) it fetches Python and ends: 0 it is there, 1 it could not be fetched.

Unicode true
Target amd64-unicode
Name "Potluck"
OutFile "${OUT}"
Icon "${ICON}"
RequestExecutionLevel user
SetCompressor lzma
ShowInstDetails show
AutoCloseWindow true
BrandingText " "
Caption "Potluck: the first start"
SubCaption 3 " "
InstallButtonText "Fetch"
Page instfiles

!include FileFunc.nsh
!include LogicLib.nsh

!define FOLDER "$EXEDIR\python"

Var Arguments
Var Program ; empty: there is no Python yet

Function FindPython
  StrCpy $Program ""
  FindFirst $0 $1 "${FOLDER}\cpython-${PYTHON}*"
  ${DoWhile} $1 != ""
    ${If} ${FileExists} "${FOLDER}\$1\pythonw.exe"
      StrCpy $Program "${FOLDER}\$1\pythonw.exe"
    ${EndIf}
    FindNext $0 $1
  ${Loop}
  FindClose $0
FunctionEnd

Function Start
  SetOutPath "$EXEDIR" ; where the app begins; not the folder of whoever called
  Exec '"$Program" -E -s "$EXEDIR\app" $Arguments'
FunctionEnd

Function .onInit
  ${GetParameters} $Arguments
  Call FindPython
  ${If} $Program != ""
    ${IfNot} ${Silent}
      Call Start
    ${EndIf}
    SetErrorLevel 0
    Quit
  ${EndIf}
FunctionEnd

Section
again:
  DetailPrint "Potluck is written in Python, which is fetched once (about 25 MB)."
  System::Call 'kernel32::SetEnvironmentVariable(t "UV_PYTHON_INSTALL_DIR", t "${FOLDER}")'
  System::Call 'kernel32::SetEnvironmentVariable(t "UV_NO_CONFIG", t "1")'
  nsExec::ExecToLog '"$EXEDIR\bin\uv.exe" python install ${PYTHON} --managed-python --no-bin --no-registry --no-cache'
  Pop $0
  Call FindPython
  ${If} $Program == ""
    MessageBox MB_RETRYCANCEL|MB_ICONEXCLAMATION \
      "Python could not be fetched ($0). Is this computer online? What is installed stays as it is." \
      /SD IDCANCEL IDRETRY again
    SetErrorLevel 1
    Quit
  ${EndIf}
  ${IfNot} ${Silent}
    Call Start
  ${EndIf}
SectionEnd
